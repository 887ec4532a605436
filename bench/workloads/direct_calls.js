// One job: 10,000 calls of a small function by its name.
function direct_calls_step(value, step) {
  return (value * 3 + step) & 1048575;
}

function direct_calls(jobs, lane) {
  var value = lane;
  for (var job = 0; job < jobs; job++) {
    for (var i = 0; i < 10000; i++) {
      value = direct_calls_step(value, i);
    }
  }
  return value;
}
