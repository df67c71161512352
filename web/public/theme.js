// Sets the chosen theme before the first picture. A file of its own, because the node's policy refuses inline scripts.
try {
  const theme = localStorage.getItem("turnpike.theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's theme applies.
}
