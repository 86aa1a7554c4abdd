//! Which files share a ticket when there are more files than endpoints. Pure; every file is in
//! exactly one ticket.

/// A file as packing sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// Its bytes.
    pub(crate) bytes: u64,
    /// The server that should scan it, as a number.
    pub(crate) server: usize,
}

/// Groups of files, by position: one file each while they fit in `max` groups, otherwise by bytes
/// among the files of one server. Files keep their order within a group, groups are in the order of
/// their first file.
pub(crate) fn pack(files: &[Packed], max: usize) -> Vec<Vec<usize>> {
    let max = max.max(1);
    if files.len() <= max {
        return (0..files.len()).map(|file| vec![file]).collect();
    }
    let by_server = by_server(files);
    let mut groups = if by_server.len() > max {
        balance(files, (0..files.len()).collect(), max)
    } else {
        let shares = shares(files, &by_server, max);
        let balanced = by_server.into_iter().zip(shares);
        balanced
            .flat_map(|(members, share)| balance(files, members, share))
            .collect()
    };
    groups.sort_by_key(|group| group.first().copied());
    groups
}

fn by_server(files: &[Packed]) -> Vec<Vec<usize>> {
    let mut servers: Vec<(usize, Vec<usize>)> = Vec::new();
    for (position, file) in files.iter().enumerate() {
        match servers
            .iter_mut()
            .find(|(server, _)| *server == file.server)
        {
            Some((_, members)) => members.push(position),
            None => servers.push((file.server, vec![position])),
        }
    }
    servers.into_iter().map(|(_, members)| members).collect()
}

/// How many groups each server gets: one to begin with, each further one to the server whose groups
/// are the heaviest.
fn shares(files: &[Packed], servers: &[Vec<usize>], max: usize) -> Vec<usize> {
    let mut shares = vec![1_usize; servers.len()];
    let bytes: Vec<u64> = servers
        .iter()
        .map(|members| total(files, members))
        .collect();
    for _ in servers.len()..max {
        let heaviest = (0..servers.len())
            .filter(|server| shares[*server] < servers[*server].len())
            .max_by_key(|server| bytes[*server] / shares[*server] as u64);
        match heaviest {
            Some(server) => shares[server] += 1,
            None => break,
        }
    }
    shares
}

/// The largest file first, each into the lightest group.
fn balance(files: &[Packed], mut members: Vec<usize>, groups: usize) -> Vec<Vec<usize>> {
    let mut balanced: Vec<(u64, Vec<usize>)> = vec![(0, Vec::new()); groups.max(1)];
    members.sort_by_key(|position| std::cmp::Reverse(weight(files, *position)));
    for position in members {
        let lightest = balanced
            .iter_mut()
            .min_by_key(|(bytes, group)| (*bytes, group.len()));
        if let Some((bytes, group)) = lightest {
            *bytes += weight(files, position);
            group.push(position);
        }
    }
    let mut groups: Vec<Vec<usize>> = balanced.into_iter().map(|(_, group)| group).collect();
    groups.retain(|group| !group.is_empty());
    for group in &mut groups {
        group.sort_unstable();
    }
    groups
}

fn weight(files: &[Packed], position: usize) -> u64 {
    files.get(position).map_or(0, |file| file.bytes)
}

fn total(files: &[Packed], members: &[usize]) -> u64 {
    members
        .iter()
        .map(|position| weight(files, *position))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(count: usize, servers: usize) -> Vec<Packed> {
        let file = |position: usize| Packed {
            bytes: 100 + (position as u64 * 37) % 91,
            server: position % servers,
        };
        (0..count).map(file).collect()
    }

    fn sorted(groups: &[Vec<usize>]) -> Vec<usize> {
        let mut all: Vec<usize> = groups.iter().flatten().copied().collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn every_file_is_in_exactly_one_group_and_there_are_never_too_many() {
        for count in [0, 1, 2, 15, 16, 17, 40, 300] {
            for servers in [1, 2, 3, 16, 40] {
                for max in [0, 1, 3, 16] {
                    let files = files(count, servers);
                    let groups = pack(&files, max);
                    assert_eq!(sorted(&groups), (0..count).collect::<Vec<_>>());
                    assert!(groups.len() <= max.max(1), "{count} {servers} {max}");
                    assert!(groups.iter().all(|group| group.is_sorted()));
                }
            }
        }
    }

    #[test]
    fn few_files_are_not_packed() {
        assert_eq!(pack(&files(3, 1), 16), [[0], [1], [2]]);
    }

    #[test]
    fn a_group_holds_files_of_one_server_while_servers_are_few() {
        let files = files(300, 3);
        for group in pack(&files, 16) {
            let first = files[group[0]].server;
            assert!(
                group
                    .iter()
                    .all(|position| files[*position].server == first)
            );
        }
    }

    #[test]
    fn groups_are_balanced_by_bytes() {
        let mut files = files(40, 1);
        files[7].bytes = 10_000;
        let groups = pack(&files, 4);
        let alone = groups.iter().find(|group| group.contains(&7)).unwrap();
        assert_eq!(alone, &[7]);
        assert!(
            groups
                .iter()
                .all(|group| group == alone || group.len() == 13)
        );
    }
}
