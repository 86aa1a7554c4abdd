use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;

fn end(literal: impl Strategy<Value = Datum> + Clone) -> impl Strategy<Value = End> {
    prop_oneof![
        1 => Just(End::Unbounded),
        3 => literal.clone().prop_map(End::Inclusive),
        3 => literal.prop_map(End::Exclusive),
    ]
}

type Ends = Vec<(End, End)>;

fn lists(literal: impl Strategy<Value = Datum> + Clone) -> impl Strategy<Value = Ends> {
    prop::collection::vec((end(literal.clone()), end(literal)), 0..6)
}

/// Two lists of intervals of one kind. Values are few, so that ends meet often; floats leave room
/// between neighbours, integers do not.
fn pairs() -> impl Strategy<Value = (Ends, Ends)> {
    let ints = || lists((-5_i64..6).prop_map(Datum::Int));
    let floats = || lists((-5_i8..6).prop_map(|n| Datum::Float(n.into())));
    prop_oneof![(ints(), ints()), (floats(), floats())]
}

fn set(ends: &[(End, End)]) -> ValueSet {
    ValueSet::of(
        ends.iter()
            .filter_map(|(lower, upper)| Interval::new(lower.clone(), upper.clone())),
    )
}

fn naive(ends: &[(End, End)], value: &Datum) -> bool {
    let inside = |end: &End, outward: Ordering| match end {
        End::Unbounded => true,
        End::Inclusive(limit) => value.compare(limit) != Some(outward),
        End::Exclusive(limit) => value.compare(limit) == Some(outward.reverse()),
    };
    ends.iter()
        .any(|(lower, upper)| inside(lower, Ordering::Less) && inside(upper, Ordering::Greater))
}

fn contains(set: &ValueSet, value: &Datum) -> bool {
    let may = set.may_overlap(Some(value), Some(value));
    assert_eq!(
        may,
        set.surely_covers(Some(value), Some(value)),
        "{set} {value}"
    );
    may
}

/// Values of the kind of the ends, on them and between them.
fn values(ends: &[(End, End)]) -> Vec<Datum> {
    let is_int = |end: &End| matches!(end.value(), Some(Datum::Int(_)));
    if ends.iter().any(|(a, b)| is_int(a) || is_int(b)) {
        return (-7..8).map(Datum::Int).collect();
    }
    (-14..15_i8)
        .map(|n| Datum::Float(f64::from(n) / 2.0))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_set_holds_what_its_intervals_hold((ends, _) in pairs()) {
        let set = set(&ends);
        for value in values(&ends) {
            prop_assert_eq!(contains(&set, &value), naive(&ends, &value), "{} {}", set, value);
        }
        let apart = set.intervals().windows(2).all(|pair| pair[0].join(&pair[1]).is_none());
        prop_assert!(apart, "{}", set);
    }

    #[test]
    fn sets_are_united_and_intersected_value_by_value((a, b) in pairs()) {
        let (one, two) = (set(&a), set(&b));
        let both = one.intersect(&two).unwrap();
        let either = one.union(&two);
        for value in values(&[a.as_slice(), b.as_slice()].concat()) {
            let (in_a, in_b) = (naive(&a, &value), naive(&b, &value));
            prop_assert_eq!(contains(&both, &value), in_a && in_b, "{} {}", both, value);
            prop_assert_eq!(contains(&either, &value), in_a || in_b, "{} {}", either, value);
        }
    }

    #[test]
    fn bounds_are_judged_as_their_values_are(
        (ends, _) in pairs(), lower in -14..15_i8, length in 0..12_usize
    ) {
        let set = set(&ends);
        let values: Vec<Datum> = values(&ends)
            .into_iter()
            .skip_while(|value| match value {
                Datum::Int(value) => *value < i64::from(lower),
                Datum::Float(value) => *value < f64::from(lower),
                _ => false,
            })
            .take(length + 1)
            .collect();
        if let (Some(lower), Some(upper)) = (values.first(), values.last()) {
            let held = values.iter().filter(|value| naive(&ends, value)).count();
            let may = set.may_overlap(Some(lower), Some(upper));
            let sure = set.surely_covers(Some(lower), Some(upper));
            prop_assert!(may || held == 0, "{} {} {}", set, lower, upper);
            prop_assert!(!sure || held == values.len(), "{} {} {}", set, lower, upper);
            let all = set.intervals().iter();
            let slow = all.clone().any(|one| one.may_overlap(Some(lower), Some(upper)));
            prop_assert_eq!(may, slow);
            let slow = all.clone().any(|one| one.surely_covers(Some(lower), Some(upper)));
            prop_assert_eq!(sure, slow);
        }
    }

    #[test]
    fn exceptions_cut_holes(holes in prop::collection::vec(-5_i8..6, 0..6)) {
        let set = ValueSet::except(holes.iter().map(|hole| Datum::Int((*hole).into()))).unwrap();
        for value in -7..8_i8 {
            prop_assert_eq!(contains(&set, &Datum::Int(value.into())), !holes.contains(&value));
        }
        let floats = holes.iter().map(|hole| Datum::Float((*hole).into()));
        let set = ValueSet::except(floats).unwrap();
        for half in -14..15_i8 {
            let hole = half % 2 == 0 && holes.contains(&(half / 2));
            prop_assert_eq!(contains(&set, &Datum::Float(f64::from(half) / 2.0)), !hole);
        }
    }
}

#[test]
fn integers_leave_no_room_between_neighbours() {
    let set = |lower, upper| ValueSet::of(Interval::new(lower, upper));
    let above = set(End::Exclusive(Datum::Int(5)), End::Unbounded);
    let below = set(End::Unbounded, End::Exclusive(Datum::Int(6)));
    assert!(above.intersect(&below).unwrap().is_empty());
}

#[test]
fn prefixes_end_before_their_successor() {
    let bytes = |bytes: &[u8]| Datum::Bytes(bytes.to_vec());
    let prefix = ValueSet::starting_with(b"ab\xff");
    assert!(contains(&prefix, &bytes(b"ab\xff\xff")));
    assert!(!contains(&prefix, &bytes(b"ac")));
    let open = ValueSet::starting_with(b"\xff");
    assert!(contains(&open, &bytes(b"\xff\xff\xff")));
    assert!(contains(&ValueSet::starting_with(b""), &bytes(b"")));
}

#[test]
fn values_of_another_kind_are_neither_ruled_out_nor_sure() {
    let date = Datum::Date(9);
    let other = ValueSet::points([Datum::Int(3)]);
    let mixed = ValueSet::points([Datum::Int(3), Datum::Bytes(vec![1])]);
    for set in [
        other.clone(),
        mixed.clone(),
        ValueSet::all_but(Datum::Int(9)),
    ] {
        assert!(set.may_overlap(Some(&date), Some(&date)), "{set}");
        assert!(!set.surely_covers(Some(&date), Some(&date)), "{set}");
        assert_eq!(set.intersect(&ValueSet::points([date.clone()])), None);
    }
    assert!(mixed.may_overlap(Some(&Datum::Int(4)), Some(&Datum::Int(4))));
    assert!(mixed.surely_covers(Some(&Datum::Int(3)), Some(&Datum::Int(3))));
    assert_eq!(ValueSet::except([Datum::Int(3), date]), None);
    assert_eq!(mixed.hull(), ValueSet::everything());
}

#[test]
fn the_two_zeros_are_one_value() {
    let set = |lower, upper| ValueSet::of(Interval::new(lower, upper));
    let zeros = [Datum::Float(-0.0), Datum::Float(0.0)];
    for zero in &zeros {
        let at_least = set(End::Inclusive(zero.clone()), End::Unbounded);
        let at_most = set(End::Unbounded, End::Inclusive(zero.clone()));
        let above = set(End::Exclusive(zero.clone()), End::Unbounded);
        let below = set(End::Unbounded, End::Exclusive(zero.clone()));
        let only = ValueSet::points([zero.clone()]);
        for other in &zeros {
            let holds = |set: &ValueSet| set.surely_covers(Some(other), Some(other));
            assert!(holds(&at_least) && holds(&at_most) && holds(&only));
            assert!(holds(&at_least.intersect(&at_most).unwrap()));
            assert!(!holds(&above) && !holds(&below));
        }
    }
}
