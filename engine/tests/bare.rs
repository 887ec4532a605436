//! The engine alone: a bare realm is made, hand-written bytecode runs, garbage goes.

use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::*;
use zjs_engine::realm::{Realm, RealmOptions};

fn top(code: Vec<u16>, registers: u16) -> CompiledScript {
    let function = FunctionTemplate {
        name: "".into(),
        kind: FunctionKind::Top,
        suspension: Suspension::None,
        strict: false,
        uses_this: false,
        param_count: 0,
        init_count: 0,
        register_count: registers,
        length: 0,
        code,
        constants: vec![],
        handlers: vec![],
        positions: vec![],
        ic_count: 0,
        source_start: 0,
        source_end: 0,
    };
    CompiledScript {
        functions: vec![function],
        source: "".into(),
        name: "test".into(),
        globals: GlobalDeclarations::default(),
        module: None,
    }
}

#[test]
fn bytecode_sums_in_a_loop() {
    let mut realm = Realm::bare(&RealmOptions::default()).unwrap();
    let op = |o: Opcode| o as u16;
    // r0 = 0; r1 = 0; r2 = 10; do { r0 += r1; r1 += 1 } while (r1 < r2); return r0
    let code = vec![
        op(Opcode::LoadInt),
        0,
        0,
        0,
        op(Opcode::LoadInt),
        1,
        0,
        0,
        op(Opcode::LoadInt),
        2,
        10,
        0,
        op(Opcode::Add),
        0,
        0,
        1,
        op(Opcode::Increment),
        1,
        1,
        op(Opcode::JumpIfLess),
        1,
        2,
        (-7i32 as u32 & 0xFFFF) as u16,
        (-7i32 as u32 >> 16) as u16,
        op(Opcode::Return),
        0,
    ];
    let result = realm.enter(|realm| realm.run_script(&top(code, 3), false)).unwrap();
    assert_eq!(result.as_int(), 45);
    realm.collect_at_rest();
    let live = realm.allocated_bytes();
    realm.collect_at_rest();
    assert_eq!(realm.allocated_bytes(), live);
    println!("bare realm: {live} bytes live");
}

#[test]
fn bare_realm_survives_collection_at_every_allocation() {
    let options = RealmOptions { collect_always: true, ..Default::default() };
    let mut realm = Realm::bare(&options).unwrap();
    let text = realm.enter(|realm| {
        let error = realm.new_error(zjs_engine::names::Intrinsic::TypeErrorPrototype, "gone").unwrap();
        realm.error_headline(error)
    });
    assert_eq!(text, "TypeError: gone");
}
