// One job: 20,000 replacements in a live ring of 256 small objects. Each new object is derived from the
// one that it replaces, so every allocation is read once before it dies.
function object_churn(jobs, lane) {
  var ring = [];
  var i;
  for (i = 0; i < 256; i++) {
    ring.push({ id: i, weight: lane, stamp: 0 });
  }
  for (var job = 0; job < jobs; job++) {
    for (i = 0; i < 20000; i++) {
      var old = ring[i & 255];
      ring[i & 255] = { id: (old.id + 1) & 65535, weight: (old.weight + i) & 65535, stamp: i };
    }
  }
  var total = 0;
  for (i = 0; i < 256; i++) {
    total += ring[i].id * 3 + ring[i].weight * 5 + ring[i].stamp;
  }
  return total;
}
