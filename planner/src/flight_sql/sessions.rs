//! Sessions that no server remembers: their options travel in a signed token, which clients send back
//! as bearer token, as cookie, or both. A change of options gives a new token; the newest one that a
//! client sends counts. Headers named like an option win over the session.
//!
//! A client that keeps neither rotated bearer tokens nor cookies has no session: it sets headers.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::schema::{CATALOG, DEFAULT_SCHEMA};
use prost::Message;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use uuid::Uuid;
use wire::TicketKeys;

use super::handshake::{ANONYMOUS, Authorization, authorization, refused};
use super::session_messages::{
    ErrorValue, OptionError, OptionValue, SessionOptionValue, SetSessionOptionsResult,
};
use crate::error::PlannerError;
use crate::session::{
    OPTION_CATALOG, OPTION_ENDPOINTS, OPTION_SCHEMA, OPTION_TIME_ZONE, Session, check_option,
};

/// The cookie's name, as the protocol suggests it.
const COOKIE: &str = "arrow_flight_session_id";

/// Tells our tokens from those of others.
const TOKEN_PREFIX: &str = "fulmar.";

const PURPOSE: &str = "session";

/// What a session can set; each is a header, too.
const OPTIONS: [&str; 4] = [
    OPTION_CATALOG,
    OPTION_ENDPOINTS,
    OPTION_SCHEMA,
    OPTION_TIME_ZONE,
];

/// What a token carries.
#[derive(Clone, PartialEq, prost::Message)]
struct Token {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    principal: String,
    #[prost(btree_map = "string, string", tag = "3")]
    options: BTreeMap<String, String>,
    /// Counts the changes, so that the newest of several tokens is known.
    #[prost(uint64, tag = "4")]
    revision: u64,
}

/// Issues and reads session tokens.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    keys: TicketKeys,
}

impl Sessions {
    /// Sessions whose tokens are signed with these keys.
    pub(crate) fn new(keys: TicketKeys) -> Self {
        Self { keys }
    }

    /// The session of a call, with the options that its headers set.
    ///
    /// # Errors
    /// When a token of ours does not hold, or a header is no valid option.
    pub(crate) fn of_call(&self, metadata: &MetadataMap) -> Result<Session, PlannerError> {
        let token = self.token(metadata)?;
        let mut options = token.options;
        for name in OPTIONS {
            if let Some(value) = metadata.get(name) {
                let value = value.to_str().map_err(|_| {
                    PlannerError::Invalid(format!("the header {name:?} is not text"))
                })?;
                check_option(name, value)?;
                options.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(Session {
            id: token.id,
            principal: token.principal,
            options,
        })
    }

    /// Begins a session for a caller; the same one again when the caller is in one.
    ///
    /// # Errors
    /// When the credentials cannot be read.
    pub(crate) fn begin(&self, metadata: &MetadataMap) -> Result<String, PlannerError> {
        let token = self.token(metadata)?;
        self.seal(&started(token))
    }

    /// Sets options; those that are refused are named in the result. Gives the session's new token.
    ///
    /// # Errors
    /// When the caller's token does not hold.
    pub(crate) fn set_options(
        &self,
        metadata: &MetadataMap,
        wanted: BTreeMap<String, SessionOptionValue>,
    ) -> Result<(SetSessionOptionsResult, String), PlannerError> {
        let mut token = started(self.token(metadata)?);
        let mut errors = BTreeMap::new();
        for (name, value) in wanted {
            match set_option(&mut token.options, &name, value) {
                Ok(()) => {}
                Err(error) => {
                    let value = error.into();
                    errors.insert(name, OptionError { value });
                }
            }
        }
        token.revision += 1;
        Ok((SetSessionOptionsResult { errors }, self.seal(&token)?))
    }

    fn token(&self, metadata: &MetadataMap) -> Result<Token, PlannerError> {
        let mut anonymous = Token {
            principal: ANONYMOUS.to_owned(),
            ..Token::default()
        };
        let mut tokens = Vec::new();
        match authorization(metadata)? {
            Some(Authorization::Basic { user }) if !user.is_empty() => anonymous.principal = user,
            Some(Authorization::Bearer(text)) if text.starts_with(TOKEN_PREFIX) => {
                tokens.push(self.unseal(&text)?);
            }
            _ => {}
        }
        if let Some(text) = cookie(metadata) {
            tokens.push(self.unseal(&text)?);
        }
        let newest = tokens.into_iter().max_by_key(|token| token.revision);
        Ok(newest.unwrap_or(anonymous))
    }

    fn seal(&self, token: &Token) -> Result<String, PlannerError> {
        let sealed = self.keys.seal(PURPOSE, &token.encode_to_vec())?;
        Ok(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(sealed)))
    }

    fn unseal(&self, text: &str) -> Result<Token, PlannerError> {
        let invalid =
            |why: String| refused(format!("the session does not hold: {why}; connect again"));
        let sealed = text
            .strip_prefix(TOKEN_PREFIX)
            .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok())
            .ok_or_else(|| invalid("not a session token".to_owned()))?;
        let body = self
            .keys
            .open(PURPOSE, &sealed)
            .map_err(|error| invalid(error.to_string().replace("ticket", "token")))?;
        Token::decode(body).map_err(|error| invalid(error.to_string()))
    }
}

fn started(mut token: Token) -> Token {
    if token.id.is_empty() {
        token.id = Uuid::new_v4().to_string();
    }
    token
}

fn set_option(
    options: &mut BTreeMap<String, String>,
    name: &str,
    value: SessionOptionValue,
) -> Result<(), ErrorValue> {
    if !OPTIONS.contains(&name) {
        return Err(ErrorValue::InvalidName);
    }
    match value.value {
        None => {
            options.remove(name);
            Ok(())
        }
        Some(OptionValue::Text(text)) => {
            check_option(name, &text).map_err(|_| ErrorValue::InvalidValue)?;
            options.insert(name.to_owned(), text);
            Ok(())
        }
        Some(_) => Err(ErrorValue::InvalidValue),
    }
}

/// The options of a session as clients read them: `catalog` and `schema` always have a value.
pub(crate) fn shown_options(session: &Session) -> BTreeMap<String, SessionOptionValue> {
    let mut options = BTreeMap::from([
        (OPTION_CATALOG.to_owned(), CATALOG.to_owned()),
        (OPTION_SCHEMA.to_owned(), DEFAULT_SCHEMA.to_owned()),
    ]);
    options.extend(session.options.clone());
    options
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect()
}

/// Hands a token to the client, as bearer token and as cookie.
///
/// # Errors
/// When the token cannot stand in a header; ours always can.
pub(crate) fn hand_out(metadata: &mut MetadataMap, token: &str) -> Result<(), PlannerError> {
    metadata.insert("authorization", header(&format!("Bearer {token}"))?);
    metadata.insert("set-cookie", header(&format!("{COOKIE}={token}"))?);
    Ok(())
}

/// Takes the session's cookie back.
///
/// # Errors
/// Never in practice; see [`hand_out`].
pub(crate) fn take_back(metadata: &mut MetadataMap) -> Result<(), PlannerError> {
    metadata.insert("set-cookie", header(&format!("{COOKIE}=; Max-Age=0"))?);
    Ok(())
}

fn header(text: &str) -> Result<MetadataValue<Ascii>, PlannerError> {
    text.parse()
        .map_err(|_| PlannerError::Internal("a session token is no header".to_owned()))
}

fn cookie(metadata: &MetadataMap) -> Option<String> {
    let pairs = metadata
        .get_all("cookie")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut values = pairs.filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        let value = value.trim().trim_matches('"');
        (name == COOKIE && !value.is_empty()).then(|| value.to_owned())
    });
    values.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Sessions {
        Sessions::new(TicketKeys::parse("k:000102030405060708090a0b0c0d0e0f").unwrap())
    }

    fn with(pairs: &[(&'static str, String)]) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        for (name, value) in pairs {
            metadata.insert(*name, value.parse().unwrap());
        }
        metadata
    }

    fn wanted(
        name: &str,
        value: impl Into<Option<OptionValue>>,
    ) -> BTreeMap<String, SessionOptionValue> {
        BTreeMap::from([(
            name.to_owned(),
            SessionOptionValue {
                value: value.into(),
            },
        )])
    }

    fn text(value: &str) -> OptionValue {
        OptionValue::Text(value.to_owned())
    }

    #[test]
    fn options_are_kept_in_the_token_and_read_by_another_replica() {
        let basic = with(&[("authorization", "Basic YWI6Yw".to_owned())]);
        let first = sessions().begin(&basic).unwrap();
        let bearer = with(&[("authorization", format!("Bearer {first}"))]);
        let (result, second) = sessions()
            .set_options(&bearer, wanted("schema", text("sales")))
            .unwrap();
        assert!(result.errors.is_empty());

        // The old bearer token beside the new cookie: the newer one counts, whichever it is.
        for (authorization, cookie) in [(&first, &second), (&second, &first)] {
            let call = with(&[
                ("authorization", format!("Bearer {authorization}")),
                ("cookie", format!("x=1; {COOKIE}={cookie}")),
            ]);
            let session = sessions().of_call(&call).unwrap();
            assert_eq!(session.schema(), "sales");
            assert_eq!(session.principal, "ab");
            assert!(!session.id.is_empty());
        }
    }

    #[test]
    fn a_valueless_option_is_unset_and_wrong_ones_are_named() {
        let (_, token) = sessions()
            .set_options(&MetadataMap::new(), wanted("endpoints", text("single")))
            .unwrap();
        let call = with(&[("authorization", format!("Bearer {token}"))]);
        assert!(sessions().of_call(&call).unwrap().single_endpoint());
        let (_, token) = sessions()
            .set_options(&call, wanted("endpoints", None))
            .unwrap();
        let call = with(&[("authorization", format!("Bearer {token}"))]);
        assert!(!sessions().of_call(&call).unwrap().single_endpoint());

        for (name, value, error) in [
            ("colour", text("blue"), ErrorValue::InvalidName),
            ("catalog", text("other"), ErrorValue::InvalidValue),
            (
                "endpoints",
                OptionValue::Boolean(true),
                ErrorValue::InvalidValue,
            ),
        ] {
            let (result, _) = sessions()
                .set_options(&MetadataMap::new(), wanted(name, value))
                .unwrap();
            assert_eq!(result.errors[name].value(), error, "{name}");
        }
    }

    #[test]
    fn headers_win_and_are_checked() {
        let call = with(&[("endpoints", "single".to_owned())]);
        assert!(sessions().of_call(&call).unwrap().single_endpoint());
        let call = with(&[("endpoints", "two".to_owned())]);
        assert!(sessions().of_call(&call).is_err());
    }

    #[test]
    fn foreign_bearers_are_accepted_and_forged_tokens_are_not() {
        for bearer in ["None", "", "eyJhbGciOi.J9"] {
            let call = with(&[("authorization", format!("Bearer {bearer}"))]);
            assert_eq!(sessions().of_call(&call).unwrap().principal, ANONYMOUS);
        }
        let token = sessions().begin(&MetadataMap::new()).unwrap();
        let forged = format!("Bearer {}A", &token[..token.len() - 1]);
        for header in [forged, "Bearer fulmar.x".to_owned()] {
            let error = sessions().of_call(&with(&[("authorization", header)]));
            assert!(error.unwrap_err().to_string().contains("connect again"));
        }
    }

    #[test]
    fn the_catalog_and_the_schema_are_always_shown() {
        let shown = shown_options(&Session::default());
        assert_eq!(shown["catalog"].value, Some(text("fulmar")));
        assert_eq!(shown["schema"].value, Some(text("main")));
    }
}
