//! Who calls: the `authorization` header in the forms that clients send. Nobody has to log in yet, so
//! every name is taken as it is claimed and every bearer token that is not ours is ignored.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, GeneralPurpose as Decoder};
use tonic::metadata::MetadataMap;
use wire::Category;

use crate::error::PlannerError;

/// The principal of callers that give no name.
pub(crate) const ANONYMOUS: &str = "anonymous";

/// Some clients pad the credentials, others do not.
const LENIENT: Decoder = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What an `authorization` header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Authorization {
    /// A user name; the password is not looked at.
    Basic { user: String },
    /// A token.
    Bearer(String),
}

/// Reads the header; `None` without one.
///
/// # Errors
/// When it is neither Basic nor Bearer, or not what it says.
pub(crate) fn authorization(metadata: &MetadataMap) -> Result<Option<Authorization>, PlannerError> {
    let Some(value) = metadata.get("authorization") else {
        return Ok(None);
    };
    let text = value
        .to_str()
        .map_err(|_| refused("the authorization header is not text"))?;
    let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    match scheme.to_ascii_lowercase().as_str() {
        "basic" => basic(rest.trim()).map(Some),
        "bearer" => Ok(Some(Authorization::Bearer(rest.trim().to_owned()))),
        _ => Err(refused("the authorization header must be Basic or Bearer")),
    }
}

fn basic(credentials: &str) -> Result<Authorization, PlannerError> {
    let malformed = || refused("the Basic credentials are not base64 of user:password");
    let decoded = LENIENT.decode(credentials).map_err(|_| malformed())?;
    let text = String::from_utf8(decoded).map_err(|_| malformed())?;
    let (user, _) = text.split_once(':').ok_or_else(malformed)?;
    Ok(Authorization::Basic {
        user: user.to_owned(),
    })
}

/// An error about credentials.
pub(crate) fn refused(message: impl Into<String>) -> PlannerError {
    PlannerError::Other {
        category: Category::Unauthenticated,
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str) -> Result<Option<Authorization>, PlannerError> {
        let mut metadata = MetadataMap::new();
        metadata.insert("authorization", header.parse().unwrap());
        authorization(&metadata)
    }

    #[test]
    fn credentials_are_read_padded_and_unpadded() {
        // "ab:c" and "user:pass"
        for (header, user) in [
            ("Basic YWI6Yw==", "ab"),
            ("Basic YWI6Yw", "ab"),
            ("basic dXNlcjpwYXNz", "user"),
        ] {
            let expected = Authorization::Basic {
                user: user.to_owned(),
            };
            assert_eq!(read(header).unwrap(), Some(expected), "{header}");
        }
    }

    #[test]
    fn any_bearer_is_read_and_nonsense_is_refused() {
        for (header, token) in [
            ("Bearer None", "None"),
            ("bearer  x y", "x y"),
            ("Bearer", ""),
        ] {
            let expected = Authorization::Bearer(token.to_owned());
            assert_eq!(read(header).unwrap(), Some(expected), "{header}");
        }
        for header in ["Basic ???", "Basic YWI", "Negotiate abc"] {
            assert!(read(header).is_err(), "{header}");
        }
        assert_eq!(authorization(&MetadataMap::new()).unwrap(), None);
    }
}
