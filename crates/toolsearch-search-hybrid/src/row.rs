//! One vector in a byte a number. Directions alone count, so a row has no length.

use toolsearch_search::MAX_DIMENSIONS;

/// A direction. The largest number is 127 or -127.
#[derive(Clone, PartialEq)]
pub(crate) struct Row {
    numbers: Box<[i8]>,
    /// One through the length of the numbers.
    scale: f32,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Row")
            .field("dimensions", &self.numbers.len())
            .finish_non_exhaustive()
    }
}

impl Row {
    /// `None` for what has no direction: nothing, too much, zero, infinite or no numbers.
    pub(crate) fn of(vector: &[f32]) -> Option<Self> {
        if vector.is_empty() || vector.len() > MAX_DIMENSIONS {
            return None;
        }
        let largest = vector
            .iter()
            .fold(0.0_f32, |most, number| most.max(number.abs()));
        if vector.iter().any(|number| !number.is_finite()) || largest <= 0.0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127")]
        let numbers: Box<[i8]> = vector
            .iter()
            .map(|number| (number / largest * 127.0).round() as i8)
            .collect();
        Self::from_numbers(numbers)
    }

    /// `None` where all numbers are zero.
    pub(crate) fn from_numbers(numbers: Box<[i8]>) -> Option<Self> {
        let square = dot(&numbers, &numbers);
        #[expect(clippy::cast_precision_loss, reason = "a length")]
        let length = (square as f32).sqrt();
        (square > 0).then(|| Self {
            numbers,
            scale: 1.0 / length,
        })
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn numbers(&self) -> &[i8] {
        &self.numbers
    }

    /// How much two rows of equal dimensions point the same way, from -1 to 1.
    #[expect(clippy::cast_precision_loss, reason = "the sum is divided by its like")]
    pub(crate) fn cosine(&self, other: &Self) -> f32 {
        let product = dot(&self.numbers, &other.numbers) as f32;
        (product * self.scale * other.scale).clamp(-1.0, 1.0)
    }
}

/// At most 127² times [`MAX_DIMENSIONS`], which an `i32` holds.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| i32::from(*a) * i32::from(*b))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_kept() {
        let row = |vector: &[f32]| Row::of(vector).expect("a direction");
        let a = row(&[0.3, -0.2, 0.9]);
        assert!((a.cosine(&row(&[30.0, -20.0, 90.0])) - 1.0).abs() < 1e-6);
        assert!((a.cosine(&row(&[-0.3, 0.2, -0.9])) + 1.0).abs() < 1e-6);
        assert!(a.cosine(&row(&[2.0, 3.0, 0.0])).abs() < 0.01);
        assert!((row(&[1e-30, 0.0]).cosine(&row(&[1e30, 0.0])) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_has_no_direction_is_no_row() {
        for vector in [
            vec![],
            vec![0.0; 4],
            vec![f32::NAN, 1.0],
            vec![1.0, f32::NAN],
            vec![f32::INFINITY, 1.0],
            vec![1.0; MAX_DIMENSIONS + 1],
        ] {
            assert!(Row::of(&vector).is_none(), "{:?}", vector.first());
        }
        assert!(Row::from_numbers(Box::new([0, 0])).is_none());
    }
}
