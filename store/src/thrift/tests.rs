use super::parquet::PAGE_HEADER;
use super::*;

/// A list of as many elements as the format can say.
const HUGE: [u8; 5] = [0xff, 0xff, 0xff, 0xff, 0x07];

fn file(bytes: &[&[u8]]) -> Result<(), Flaw> {
    check(&bytes.concat(), FILE)
}

/// A schema of nodes with these numbers of children.
fn schema(children: &[u8]) -> Vec<u8> {
    let length = u8::try_from(children.len()).unwrap();
    let mut bytes = vec![0x29, 0xfc, length];
    for number in children {
        bytes.extend([0x48, 1, b'a', 0x15, number * 2, 0]);
    }
    bytes.push(0);
    bytes
}

#[test]
fn lists_are_not_longer_than_their_bytes() {
    for head in [&[0x29, 0xfc][..], &[0x49, 0xfc], &[0x59, 0xfc]] {
        assert_eq!(file(&[head, &HUGE, &[0; 100]]), Err(Flaw::List));
    }
    assert_eq!(
        check(&[&[0x19, 0xfc][..], &HUGE].concat(), OFFSET_INDEX),
        Err(Flaw::List)
    );
    assert_eq!(
        check(&[&[0x19, 0xf1][..], &HUGE].concat(), COLUMN_INDEX),
        Err(Flaw::List)
    );
}

#[test]
fn fields_that_nobody_knows_cost_no_more_than_their_bytes() {
    let unknown = |wire: u8| [wire, 0xc8, 0x01];
    let cases: [(&[&[u8]], _); 7] = [
        // Booleans of which the decoder would skip billions without reading a byte.
        (&[&unknown(9), &[0xf2], &HUGE], Err(Flaw::List)),
        (&[&unknown(9), &[0x22, 1, 1], &[0]], Err(Flaw::Type)),
        (&[&unknown(11), &HUGE, &[0x11]], Err(Flaw::List)),
        (&[&unknown(11), &[1, 0x22, 1, 1], &[0]], Err(Flaw::Type)),
        (&[&unknown(8), &HUGE], Err(Flaw::Short)),
        (&[&unknown(9), &[0x19; 100]], Err(Flaw::Depth)),
        (
            &[&unknown(11), &[1, 0x58, 4, 1, b'x'], &unknown(1), &[0]],
            Ok(()),
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(file(bytes), expected, "{bytes:?}");
        assert_eq!(check(&bytes.concat(), PAGE_HEADER), expected, "{bytes:?}");
    }
}

#[test]
fn a_field_is_read_as_the_decoder_reads_it() {
    // Bytes in which a list of any length hides, where the decoder expects the list itself.
    let hidden = [&[0x28, 6, 0xfc][..], &HUGE, &[0]].concat();
    assert_eq!(check(&hidden, FILE), Err(Flaw::Type));
    assert_eq!(file(&[&[0x15, 0x02, 0x16, 0x02, 0]]), Err(Flaw::Type));
    assert_eq!(file(&[&[0x15, 0x02, 0x26, 0x02, 0]]), Ok(()));
}

#[test]
fn schemas_are_trees_of_bounded_depth() {
    assert_eq!(file(&[&schema(&[2, 1, 0, 0])]), Ok(()));
    assert_eq!(file(&[&schema(&[2, 0])]), Err(Flaw::Schema));
    assert_eq!(file(&[&schema(&[63])]), Err(Flaw::Schema));
    let chain = |depth: usize| schema(&[vec![1; depth], vec![0]].concat());
    assert_eq!(file(&[&chain(DEEPEST)]), Ok(()));
    assert_eq!(file(&[&chain(DEEPEST + 1)]), Err(Flaw::Depth));
}

#[test]
fn numbers_and_structures_end() {
    assert_eq!(file(&[&[0x15], &[0xff; 20]]), Err(Flaw::Type));
    assert_eq!(file(&[&[0x15, 0x80]]), Err(Flaw::Short));
    assert_eq!(file(&[]), Err(Flaw::Short));
}
