// One job: 25,000 rounds that read and write four properties of one object. Each property feeds the
// next, so that none of the stores is dead; all stay below 65,536.
function properties(jobs, lane) {
  var point = { a: lane, b: 1, c: 2, d: 3 };
  for (var job = 0; job < jobs; job++) {
    for (var i = 0; i < 25000; i++) {
      point.a = (point.a + i) & 65535;
      point.b = (point.b + point.a) & 65535;
      point.c = (point.c + point.b) & 65535;
      point.d = (point.d ^ point.c) & 65535;
    }
  }
  return ((point.a * 64 + point.b) * 64 + point.c) * 64 + point.d;
}
