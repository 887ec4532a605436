// One job: 10,000 closures made over two variables of their round, called once and dropped.
function closure_calls_make(base, step) {
  return function (extra) {
    return (base + step + extra) & 1048575;
  };
}

function closure_calls(jobs, lane) {
  var value = lane;
  for (var job = 0; job < jobs; job++) {
    for (var i = 0; i < 10000; i++) {
      value = closure_calls_make(value, i)(job);
    }
  }
  return value;
}
