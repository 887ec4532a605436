// One job: 10,000 calls that read the arguments object: its length and each of its elements.
function arguments_calls_sum() {
  var total = 0;
  for (var i = 0; i < arguments.length; i++) {
    total += arguments[i];
  }
  return total;
}

function arguments_calls(jobs, lane) {
  var value = 0;
  for (var job = 0; job < jobs; job++) {
    for (var i = 0; i < 10000; i++) {
      value = (value + arguments_calls_sum(i, lane, job)) & 1048575;
    }
  }
  return value;
}
