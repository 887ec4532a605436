// One job: push 10,000 small integers onto a new array, then add them up.
function arrays(jobs, lane) {
  var total = 0;
  for (var job = 0; job < jobs; job++) {
    var items = [];
    var i;
    for (i = 0; i < 10000; i++) {
      items.push((i + lane + job) & 255);
    }
    for (i = 0; i < items.length; i++) {
      total += items[i];
    }
  }
  return total;
}
