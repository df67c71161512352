//! Channels as futures, on a runtime with threads and on one without.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use tokio::{runtime, task, time::timeout};
use turnpike_link::{
    Address, Config, Error,
    future::{Driver, Receiver, Sender, Server},
};

/// Addresses at which a server channel chooses its own port or name.
const ADDRESSES: [&str; 2] = ["tcp://127.0.0.1:0", "shm://"];

/// Longer than anything takes; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn small() -> Config {
    Config { buffers: 4, buffer_bytes: 1 << 10, ..Config::default() }
}

/// Runs a test for each address, on one thread and on several.
fn each<F: Future<Output = ()>>(test: impl Fn(Address) -> F) {
    let mut one = runtime::Builder::new_current_thread();
    let mut several = runtime::Builder::new_multi_thread();
    for builder in [one.enable_time(), several.worker_threads(2).enable_time()] {
        let runtime = builder.build().unwrap();
        for address in ADDRESSES {
            let test = test(address.parse().unwrap());
            runtime.block_on(async { timeout(PATIENCE, test).await.unwrap() });
        }
    }
}

async fn pair(driver: &Driver, server: &mut Server, config: &Config) -> [(Sender, Receiver); 2] {
    let address = server.address().clone();
    let near = driver.connect(&address, config);
    let (near, far) = tokio::join!(near, server.accept());
    [near.unwrap(), far.unwrap()]
}

async fn send(sender: &mut Sender, bytes: &[u8]) -> Result<(), Error> {
    let mut buffer = sender.buffer().await?;
    buffer.fill(bytes);
    sender.send(buffer)
}

#[test]
fn a_sender_waits_for_room_and_nothing_is_lost() {
    each(|address| async move {
        let driver = Driver::new().unwrap();
        let mut server = driver.bind(&address, &small()).unwrap();
        let [(mut sender, near), (far, mut receiver)] = pair(&driver, &mut server, &small()).await;
        // Many more than there are buffers: the sender is stopped, and goes on when messages are dropped.
        let sending = task::spawn(async move {
            for number in 0_u32..1000 {
                send(&mut sender, &number.to_be_bytes()).await.unwrap();
            }
            sender
        });
        let mut held = Vec::new();
        for number in 0_u32..1000 {
            let message = receiver.receive().await.unwrap();
            assert_eq!(message[..], number.to_be_bytes());
            held.push(message);
            if held.len() == 4 {
                task::spawn_blocking(move || drop(held)).await.unwrap();
                held = Vec::new();
            }
        }
        drop((sending.await.unwrap(), near));
        assert_eq!(receiver.receive().await.unwrap_err(), Error::Closed);
        drop(far);
    });
}

#[test]
fn what_was_sent_arrives_though_its_sender_is_gone() {
    each(|address| async move {
        let driver = Driver::new().unwrap();
        // More than a socket takes at once.
        let config = Config { buffers: 64, buffer_bytes: 1 << 20, ..Config::default() };
        let mut server = driver.bind(&address, &config).unwrap();
        let [(mut sender, near), (_far, mut receiver)] = pair(&driver, &mut server, &config).await;
        for number in 0..60 {
            let mut buffer = sender.buffer().await.unwrap();
            buffer.fill(&[number; 1 << 20]);
            sender.send(buffer).unwrap();
        }
        drop((sender, near));
        for number in 0..60 {
            let message = receiver.receive().await.unwrap();
            assert!(message.len() == 1 << 20 && message.iter().all(|byte| *byte == number));
        }
        assert_eq!(receiver.receive().await.unwrap_err(), Error::Closed);
    });
}

#[test]
fn many_tasks_have_a_channel_each() {
    each(|address| async move {
        let driver = Driver::new().unwrap();
        let mut server = driver.bind(&address, &small()).unwrap();
        let at = server.address().clone();
        task::spawn(async move {
            while let Ok((mut sender, mut receiver)) = server.accept().await {
                task::spawn(async move {
                    while let Ok(message) = receiver.receive().await {
                        send(&mut sender, &message).await.unwrap();
                    }
                });
            }
        });
        let clients: Vec<_> = (0_u32..50)
            .map(|number| {
                let (driver, at) = (driver.clone(), at.clone());
                task::spawn(async move {
                    let (mut sender, mut receiver) = driver.connect(&at, &small()).await.unwrap();
                    for round in 0..20 {
                        let body = [number.to_be_bytes(), u32::to_be_bytes(round)].concat();
                        send(&mut sender, &body).await.unwrap();
                        assert_eq!(receiver.receive().await.unwrap()[..], body);
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
    });
}

#[test]
fn who_waits_is_told_of_a_peer_that_goes() {
    each(|address| async move {
        let driver = Driver::new().unwrap();
        let mut server = driver.bind(&address, &small()).unwrap();
        let [(near, _keeps), (mut full, mut receiver)] = pair(&driver, &mut server, &small()).await;
        while timeout(Duration::from_millis(20), send(&mut full, b"fills")).await.is_ok() {}
        let receiving = task::spawn(async move { receiver.receive().await });
        let sending = task::spawn(async move { full.buffer().await });
        task::yield_now().await;
        drop((near, _keeps));
        assert_eq!(receiving.await.unwrap().unwrap_err(), Error::Closed);
        assert!(sending.await.unwrap().is_err());
        // Nobody listens any more.
        let at = server.address().clone();
        drop(server);
        assert!(matches!(driver.connect(&at, &small()).await, Err(Error::System { .. })));
    });
}
