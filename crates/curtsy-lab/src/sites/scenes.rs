//! Scenes that come with the program. They are written as a user writes a scene.

use std::net::Ipv4Addr;

use super::scene::{Listen, Range, Scene};

impl Scene {
    /// The scene that `curtsy demo` crawls, of about 40 pages.
    pub fn demo() -> Scene {
        Scene::read(include_str!("scenes/demo.toml")).expect("a scene of ours")
    }

    /// So many hosts, `m1.test` and on, at 127.0.2.1 and on. Each has one of 36 moods; from the
    /// 37th on the moods come again.
    pub fn mixed(hosts: u32) -> Scene {
        let mut scene = Scene { seed: 1, ..Scene::default() };
        let hosts = hosts.min(20_000);
        while (scene.hosts.len() as u32) < hosts {
            let first = scene.hosts.len() as u32;
            let moods = include_str!("scenes/moods.toml")
                .replace("{open}", &address(first).to_string())
                .replace("{rules}", &address(first + 4).to_string());
            scene.hosts.extend(Scene::read(&moods).expect("a scene of ours").hosts);
        }
        scene.hosts.truncate(hosts as usize);
        for (n, host) in (0..).zip(&mut scene.hosts) {
            host.name = format!("m{}.test", n + 1);
            host.address = Some(address(n));
        }
        scene
    }

    /// So many hosts that use TLS; every second one keeps a handshake waiting for up to a second.
    pub fn slow_handshakes(hosts: u32, pages: u32, bytes: u32) -> Scene {
        let mut scene = Scene::plain(hosts, pages, 8, bytes);
        for (n, host) in scene.hosts.iter_mut().enumerate() {
            host.listen = Listen::Https;
            host.handshake = if n % 2 == 1 { Range::ms(0, 1_000) } else { Range::default() };
        }
        scene
    }
}

/// The address of the `n`-th host of a mixed scene.
fn address(n: u32) -> Ipv4Addr {
    let n = n + 1;
    Ipv4Addr::new(127, 0, 2 + (n / 250) as u8, (n % 250) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_of_ours_can_be_read() {
        assert_eq!(Scene::demo().hosts.len(), 3);
        let scene = Scene::mixed(50);
        assert_eq!((scene.hosts.len(), scene.hosts[36].name.as_str()), (50, "m37.test"));
        assert_eq!(scene.hosts[49].address, Some(Ipv4Addr::new(127, 0, 2, 50)));
        scene.check().expect("addresses and names are unique");
    }
}
