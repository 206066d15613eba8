//! Compares streets: kinds in full or short, the number before or after (`12 Main St.`, `Main
//! Street 12`).

use crate::plain::identity;

/// What two spellings of one street have in common.
pub(crate) fn key(street: &str) -> String {
    let mut words: Vec<String> = identity(street)
        .split(' ')
        .map(|word| {
            let word = word
                .strip_suffix("strasse")
                .map(|stem| format!("{stem}str"))
                .unwrap_or_else(|| word.to_owned());
            match word.as_str() {
                "street" => "st".to_owned(),
                "road" => "rd".to_owned(),
                "avenue" | "av" => "ave".to_owned(),
                "lane" => "ln".to_owned(),
                "drive" => "dr".to_owned(),
                "boulevard" | "bd" => "blvd".to_owned(),
                "suite" => "ste".to_owned(),
                "ulica" => "ul".to_owned(),
                "calle" => "c".to_owned(),
                "avenida" | "avda" => "ave".to_owned(),
                _ => word,
            }
        })
        .collect();
    words.sort();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_street() {
        assert_eq!(key("12 Main St."), key("Main Street 12"));
        assert_eq!(key("Goebenstraße 5"), key("Goebenstr. 5"));
        assert_ne!(key("Weg 1"), key("Weg 2"));
    }
}
