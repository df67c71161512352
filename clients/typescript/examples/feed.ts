import { follow } from "turnpike";

for await (const part of follow(process.argv[2]!, { cursor: 1n })) {
  for (const { sequence, status, balance } of part.entries) console.log(`${sequence} ${status} ${balance}`);
  if (part.cursor > part.durable) break; // all that is durable now
}
