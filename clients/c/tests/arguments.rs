//! NULL, misaligned and out of range arguments are refused, and nothing is written beyond outputs.
#![allow(clippy::unwrap_used)]

mod common;

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use common::{TestClient, TestSigner, account, create, free_address, message, no_error, nothing, result, secret_key};
use turnpike::ClientStatus as Code;
use turnpike::*;

/// A client of a node that does not exist, which gives up soon.
fn impatient() -> TestClient {
    TestClient::open(&[free_address()], Options { timeout_ms: 200, ..common::patient() })
}

fn open(nodes: &[*const std::ffi::c_char], options: *const Options) -> (Code, String) {
    let (mut client, mut error) = (null_mut(), no_error());
    // SAFETY: all pointers are to local values or NULL.
    let status = unsafe { turnpike_client_open(nodes.as_ptr(), nodes.len(), options, &raw mut client, &raw mut error) };
    assert_eq!((status, client.is_null()), (error.status, status != Code::TurnpikeOk));
    // SAFETY: it is NULL or was just made.
    unsafe { turnpike_client_free(client) };
    (status, message(&error))
}

#[test]
fn clients() {
    let node = c"127.0.0.1:7400".as_ptr();
    assert_eq!(open(&[node], null()).0, Code::TurnpikeOk);
    assert_eq!(open(&[], null()).0, Code::TurnpikeLength);
    assert_eq!(open(&[node, null()], null()).0, Code::TurnpikePointer);
    assert_eq!(open(&[c"127.0.0.1:port".as_ptr()], null()).0, Code::TurnpikeAddress);
    assert_eq!(open(&[c"\xff".as_ptr()], null()).0, Code::TurnpikeArgument);
    let sized = |size| Options { size, ..Options::default() };
    let full = size_of::<Options>() as u32;
    for (options, expected) in [
        (sized(full), Code::TurnpikeOk),
        (sized(0), Code::TurnpikeLength),
        (sized(8), Code::TurnpikeLength),
        (sized(u32::MAX), Code::TurnpikeLength),
        (Options { promise: 9, ..sized(full) }, Code::TurnpikeArgument),
        (Options { connections: 1 << 20, ..sized(full) }, Code::TurnpikeArgument),
    ] {
        let (status, message) = open(&[node], &raw const options);
        assert_eq!(status, expected, "{message}");
        assert_eq!(message.is_empty(), status == Code::TurnpikeOk);
    }
    // SAFETY: NULL is allowed for every handle here, or refused.
    unsafe {
        let mut error = no_error();
        assert_eq!(turnpike_client_open(&raw const node, 1, null(), null_mut(), &raw mut error), Code::TurnpikePointer);
        turnpike_client_free(null_mut());
        turnpike_client_close(null());
        turnpike_chain_free(null_mut());
        turnpike_signer_free(null_mut());
        assert_eq!(turnpike_client_counters(null(), null_mut()), Code::TurnpikePointer);
    }
}

#[test]
fn every_function_refuses_null() {
    let client = impatient();
    let (id, mut operation, signer) = (account(1), create(account(1)), TestSigner::new(secret_key(), [0; 32]));
    let (mut error, mut result, id_pointer) = (no_error(), result(), &raw const id);
    let error = &raw mut error;
    // SAFETY: all pointers are NULL or to local values.
    let statuses = unsafe {
        [
            turnpike_create(null(), id_pointer, null_mut(), null_mut(), error),
            turnpike_create(client.0, null(), null_mut(), null_mut(), error),
            turnpike_issue(client.0, null(), 1, null_mut(), null_mut(), error),
            turnpike_transfer(client.0, null(), id_pointer, 1, null_mut(), null_mut(), error),
            turnpike_transfer(client.0, id_pointer, null(), 1, null_mut(), null_mut(), error),
            turnpike_refer(client.0, null(), null_mut(), error),
            turnpike_execute(client.0, null_mut(), 0, &raw mut result, error),
            turnpike_execute(null(), &raw mut operation, 0, &raw mut result, error),
            turnpike_wait_for_promise(client.0, null(), 0, null_mut(), error),
            turnpike_submit(client.0, null_mut(), 1, 0, 0, &raw mut result, error),
            turnpike_submit(client.0, &raw mut operation, 1, 0, 0, null_mut(), error),
            turnpike_execute_signed(client.0, null(), null_mut(), error),
            turnpike_submit_signed(client.0, null(), 1, 0, &raw mut result, error),
            turnpike_sign(null(), &raw mut operation, 0, null_mut(), error),
            turnpike_sign(signer.0, &raw mut operation, 0, null_mut(), error),
            turnpike_sign_at(signer.0, null(), 0, 0, 0, null_mut(), error),
            turnpike_signer_new(null(), null(), null_mut(), error),
            turnpike_signer_account(null(), null_mut(), null_mut()),
            turnpike_read_info(client.0, null_mut(), error),
            turnpike_read_info(null(), null_mut(), error),
            turnpike_wait_for_height(null(), 0, null_mut(), error),
            turnpike_read_finality(null(), null_mut(), null_mut(), 0, null_mut(), error),
            turnpike_chain_open(client.0, null(), null_mut(), error),
            turnpike_chain_restore(null(), null(), 0, null_mut(), error),
            turnpike_chain_save(null(), null_mut(), 0, null_mut(), error),
            turnpike_chain_read(null(), null_mut()),
            turnpike_chain_sync(client.0, null(), null_mut(), error),
            turnpike_chain_certify(null(), null(), 0, null_mut(), error),
            turnpike_prove_balance(client.0, null(), id_pointer, null_mut(), null_mut(), 0, null_mut(), error),
            turnpike_prove_latest(client.0, null(), id_pointer, null_mut(), null_mut(), 0, null_mut(), error),
            turnpike_prove_at(client.0, null(), 0, 0, null_mut(), null_mut(), 0, null_mut(), error),
            turnpike_verify_balance(null(), id_pointer, null(), 0, null_mut(), error),
            turnpike_verify_transaction(null(), null(), 0, null_mut(), error),
            turnpike_transaction_new(null_mut(), error),
            turnpike_account_from_number(1, null_mut()),
            turnpike_account_from_key(null(), null_mut()),
            turnpike_id_parse(null(), null_mut()),
            turnpike_id_format(null(), null_mut()),
            turnpike_operation_create(null_mut(), id_pointer),
            turnpike_operation_create_for(&raw mut operation, id_pointer, null(), 1),
            turnpike_operation_issue(&raw mut operation, null(), 1),
            turnpike_operation_transfer(&raw mut operation, id_pointer, null(), 1),
            turnpike_operation_refer(&raw mut operation, null()),
        ]
    };
    for (number, status) in statuses.into_iter().enumerate() {
        assert_eq!(status, Code::TurnpikePointer, "call {number}");
    }
}

#[test]
fn misaligned_and_oversized_arrays_are_refused() {
    let client = impatient();
    let (mut error, mut memory, mut result) = (no_error(), [0_u64; 16], result());
    let misaligned = memory.as_mut_ptr().cast::<u8>().wrapping_add(1);
    // SAFETY: the pointers are to local values; those that are not are refused before they are used.
    unsafe {
        let submit =
            |operations, count, results, error| turnpike_submit(client.0, operations, count, 0, 0, results, error);
        let error = &raw mut error;
        assert_eq!(submit(misaligned.cast(), 1, &raw mut result, error), Code::TurnpikePointer);
        assert_eq!(submit(memory.as_mut_ptr().cast(), usize::MAX, &raw mut result, error), Code::TurnpikeLength);
        assert_eq!(submit(null_mut(), 0, null_mut(), error), Code::TurnpikeOk, "nothing is to be done");
        assert_eq!(submit(null_mut(), 0, null_mut(), misaligned.cast()), Code::TurnpikePointer);
        assert_eq!(submit(null_mut(), 0, null_mut(), null_mut()), Code::TurnpikeOk);
    }
}

#[test]
fn out_of_range_arguments_are_refused_before_anything_is_sent() {
    let client = impatient();
    let (mut operation, mut error, mut result) = (create(account(1)), no_error(), result());
    // SAFETY: all pointers are to local values.
    unsafe {
        let error = &raw mut error;
        let submit = |operation: &mut Operation, promise, flags, result, error| {
            turnpike_submit(client.0, operation, 1, promise, flags, result, error)
        };
        assert_eq!(submit(&mut operation, 4, 0, &raw mut result, error), Code::TurnpikeArgument);
        assert_eq!((result.status, result.execution), (Code::TurnpikeNotSent, Execution::None));
        assert_eq!(submit(&mut operation, 0, 2, &raw mut result, error), Code::TurnpikeArgument);
        let mut reserved = Operation { reserved: 1, ..operation };
        assert_eq!(submit(&mut reserved, 0, 0, &raw mut result, error), Code::TurnpikeArgument);
        let wait = turnpike_wait_for_promise(client.0, &raw const operation, 0, null_mut(), error);
        assert_eq!(wait, Code::TurnpikeArgument, "it has no id");
        let mut signer = null_mut();
        for secret in [[0; 32], [0xff; 32]] {
            let status = turnpike_signer_new(secret.as_ptr(), [0; 32].as_ptr(), &raw mut signer, error);
            assert_eq!((status, signer.is_null()), (Code::TurnpikeArgument, true));
        }
        let mut chain = null_mut();
        for length in [0, 3, 191] {
            let status = turnpike_chain_restore([0; 32].as_ptr(), [2; 191].as_ptr(), length, &raw mut chain, error);
            assert!(matches!(status, Code::TurnpikeLength | Code::TurnpikeWrongNetwork), "{status:?}");
            assert!(chain.is_null());
        }
    }
}

#[test]
fn ids_have_texts() {
    for (text, expected) in [
        (c"7", Some(7_u128)),
        (c"0x1f", Some(31)),
        (c"000102030405060708090a0b0c0d0e0f", Some(0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f)),
        (c"", None),
        (c"-1", None),
        (c"0x", None),
        (c"18446744073709551616", None),
    ] {
        let mut id = Id::default();
        let mut written = [1; TURNPIKE_ID_TEXT + 1];
        // SAFETY: all pointers are to local values.
        unsafe {
            let status = turnpike_id_parse(text.as_ptr(), &raw mut id);
            let Some(expected) = expected else {
                assert_eq!(status, Code::TurnpikeArgument, "{text:?}");
                continue;
            };
            assert_eq!((status, u128::from_be_bytes(id.bytes)), (Code::TurnpikeOk, expected));
            assert_eq!(turnpike_id_format(&raw const id, written.as_mut_ptr()), Code::TurnpikeOk);
            assert_eq!(CStr::from_ptr(written.as_ptr()).to_str().unwrap(), format!("{expected:032x}"));
        }
        assert_eq!(written[TURNPIKE_ID_TEXT], 1, "nothing is written beyond the text");
    }
    let (mut first, mut second) = (Id::default(), Id::default());
    // SAFETY: all pointers are to local values or NULL.
    unsafe {
        assert_eq!(turnpike_transaction_new(&raw mut first, null_mut()), Code::TurnpikeOk);
        assert_eq!(turnpike_transaction_new(&raw mut second, null_mut()), Code::TurnpikeOk);
    }
    assert!(first != second && wire::TransactionId(first.bytes).is_timed());
}

#[test]
fn every_code_has_texts() {
    for code in 0..400 {
        let texts = [turnpike_status_name(code), turnpike_status_text(code), turnpike_status_advice(code)];
        // SAFETY: the functions return constants.
        let [name, text, advice] = texts.map(|text| unsafe { CStr::from_ptr(text) }.to_str().unwrap());
        let is_known = name != "UNKNOWN";
        let is_status = wire::Status::try_from(code).is_ok();
        assert_eq!(is_known, is_status || (256..=275).contains(&code), "{code}");
        assert!(!text.is_empty() && (!advice.is_empty() || is_status), "{name}");
        assert!(!text.ends_with('.') && !advice.ends_with('.'), "{name}");
    }
    // SAFETY: the function returns a constant.
    let version = unsafe { CStr::from_ptr(turnpike_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_node_that_does_not_exist_is_unreachable() {
    let client = impatient();
    let call = client.create(account(1));
    assert_eq!(call.status, Code::TurnpikeUnreachable);
    assert_eq!((call.result.execution, call.error.execution), (Execution::None, Execution::None));
    assert!(message(&call.error).contains("nothing was sent"), "{}", message(&call.error));
    let (mut error, mut info) = (no_error(), std::mem::MaybeUninit::uninit());
    // SAFETY: all pointers are to local values.
    let status = unsafe { turnpike_read_info(client.0, info.as_mut_ptr(), &raw mut error) };
    assert_eq!(status, Code::TurnpikeUnreachable);
    client.close();
    let call = client.create(account(1));
    assert_eq!((call.status, call.result.execution), (Code::TurnpikeClosed, Execution::None));
    // SAFETY: NULL is refused.
    let status = unsafe { turnpike_create(nothing(), nothing(), null_mut(), null_mut(), null_mut()) };
    assert_eq!(status, Code::TurnpikePointer);
}
