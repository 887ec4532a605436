// One job: 10,000 calls through a receiver whose method, found on the prototype, reads and writes `this`.
function MethodCounter(start) {
  this.value = start;
  this.calls = 0;
}
MethodCounter.prototype.add = function (step) {
  this.value = (this.value + step) & 1048575;
  this.calls = this.calls + 1;
  return this.value;
};

function method_calls(jobs, lane) {
  var counter = new MethodCounter(lane);
  var last = 0;
  for (var job = 0; job < jobs; job++) {
    for (var i = 0; i < 10000; i++) {
      last = counter.add(i);
    }
  }
  return last + counter.calls * 1048576;
}
