// One job: fib(24) by plain recursion (150,049 calls), each call counted in an object.
function fibonacci_step(n, counter) {
  counter.calls = counter.calls + 1;
  if (n < 2) {
    return n;
  }
  return fibonacci_step(n - 1, counter) + fibonacci_step(n - 2, counter);
}

function fibonacci(jobs, lane) {
  var counter = { calls: 0 };
  var total = 0;
  for (var job = 0; job < jobs; job++) {
    total += fibonacci_step(24, counter) + lane;
  }
  return total + counter.calls;
}
