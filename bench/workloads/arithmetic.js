// One job: 100,000 rounds of integer arithmetic on locals. The value stays below 1,000,003, so every
// intermediate is an exact small integer.
function arithmetic(jobs, lane) {
  var value = 0;
  for (var job = 0; job < jobs; job++) {
    for (var i = 0; i < 100000; i++) {
      value = (value + i + lane) % 1000003;
    }
  }
  return value;
}
