//! Which server scans which file. Pure: rendezvous hashing of the file's path over the servers'
//! names, bounded by load, so that caches stay warm when servers come and go.

/// How much more than its average share a server may get, in quarters: five quarters.
const LOAD_QUARTERS: usize = 5;

/// Where a file goes, as positions in the list of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The server that should scan it.
    pub(crate) preferred: usize,
    /// The one to turn to when that fails; missing when there is only one.
    pub(crate) alternative: Option<usize>,
}

/// Places each file. Empty without servers.
pub(crate) fn place(paths: &[&str], servers: &[&str]) -> Vec<Placement> {
    if servers.is_empty() {
        return Vec::new();
    }
    let limit = (paths.len() * LOAD_QUARTERS)
        .div_ceil(servers.len() * 4)
        .max(1);
    let mut load = vec![0_usize; servers.len()];
    let placed = paths.iter().map(|path| {
        let ranking = ranking(path, servers);
        let free = |server: &&usize| load[**server] < limit;
        let preferred = ranking.iter().find(free).or(ranking.first());
        let preferred = preferred.copied().unwrap_or_default();
        load[preferred] += 1;
        let others = ranking.into_iter().filter(|server| *server != preferred);
        Placement {
            preferred,
            alternative: others.take(1).next(),
        }
    });
    placed.collect()
}

/// All servers in the order in which a path would choose them.
pub(crate) fn ranking(path: &str, servers: &[&str]) -> Vec<usize> {
    let mut ranking: Vec<usize> = (0..servers.len()).collect();
    ranking.sort_by_cached_key(|server| {
        let name = servers.get(*server).copied().unwrap_or_default();
        (std::cmp::Reverse(score(path, name)), name.to_owned())
    });
    ranking
}

/// FNV-1a of both names with a final mix. It must not change between versions or machines: several
/// planners have to agree.
fn score(path: &str, server: &str) -> u64 {
    let bytes = server.bytes().chain([0]).chain(path.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(count: usize) -> Vec<String> {
        let path = |month| format!("file:///orders/month=2024-{month:02}/part-0.parquet");
        (1..=count).map(path).collect()
    }

    fn refs(strings: &[String]) -> Vec<&str> {
        strings.iter().map(String::as_str).collect()
    }

    #[test]
    fn twelve_files_reach_all_of_three_servers() {
        for port in 0..200 {
            let servers: Vec<String> = (0..3)
                .map(|server| format!("grpc+tcp://127.0.0.1:{}", 40_000 + port * 3 + server))
                .collect();
            let placed = place(&refs(&paths(12)), &refs(&servers));
            for server in 0..3 {
                let load = placed.iter().filter(|p| p.preferred == server).count();
                assert!((1..=5).contains(&load), "{load} files on server {server}");
            }
        }
    }

    #[test]
    fn the_alternative_is_another_server() {
        for placement in place(&refs(&paths(12)), &["a", "b", "c"]) {
            assert_ne!(placement.alternative, Some(placement.preferred));
            assert!(placement.alternative.is_some());
        }
        let alone = place(&["x"], &["a"]);
        assert_eq!(
            alone,
            [Placement {
                preferred: 0,
                alternative: None
            }]
        );
        assert!(place(&["x"], &[]).is_empty());
    }

    #[test]
    fn few_files_move_when_a_server_goes() {
        let paths = paths(200);
        let before = place(&refs(&paths), &["a", "b", "c", "d"]);
        let after = place(&refs(&paths), &["a", "b", "c"]);
        let moved = before.iter().zip(&after);
        let moved = moved.filter(|(a, b)| a.preferred != 3 && a.preferred != b.preferred);
        assert!(moved.count() < 40);
    }

    #[test]
    fn the_order_of_servers_does_not_matter() {
        let one = ranking("p", &["a", "b", "c"]);
        let other = ranking("p", &["c", "b", "a"]);
        assert_eq!(one, other.iter().map(|s| 2 - s).collect::<Vec<_>>());
    }
}
