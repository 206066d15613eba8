//! The last 534 bytes of a DuckDB extension: for whom it was built.

/// Which DuckDB may load a file.
pub(crate) struct Footer<'a> {
    /// How DuckDB is reached: `C_STRUCT` is the stable C API.
    pub abi: &'a str,
    /// The version of that API.
    pub api: &'a str,
    pub extension: &'a str,
    pub platform: &'a str,
}

impl Footer<'_> {
    /// A custom section as WebAssembly has them, eight fields from the last to the first, and room for a signature that we don't have.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"\0\x93\x04\x10duckdb_signature\x80\x04".to_vec();
        for field in ["", "", "", self.abi, self.extension, self.api, self.platform, "4"] {
            assert!(field.len() <= FIELD, "a field has {FIELD} bytes: {field}");
            bytes.extend_from_slice(field.as_bytes());
            bytes.resize(bytes.len() + FIELD - field.len(), 0);
        }
        bytes.resize(bytes.len() + SIGNATURE, 0);
        bytes
    }
}

const FIELD: usize = 32;
const SIGNATURE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_has_its_length_and_its_fields_in_place() {
        let footer =
            Footer { abi: "C_STRUCT", api: "v1.5.6", extension: "v0.1.0", platform: "linux_amd64" };
        let bytes = footer.bytes();
        assert_eq!(bytes.len(), 534);
        let field = |number: usize| {
            let start = 22 + (8 - number) * FIELD;
            let text = &bytes[start..start + FIELD];
            str::from_utf8(text).unwrap().trim_end_matches('\0').to_owned()
        };
        assert_eq!(field(1), "4");
        assert_eq!(field(2), "linux_amd64");
        assert_eq!(field(3), "v1.5.6");
        assert_eq!(field(4), "v0.1.0");
        assert_eq!(field(5), "C_STRUCT");
    }
}
