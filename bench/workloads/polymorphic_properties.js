// One job: 20,000 rounds over four receivers whose `value` sits in four different slots: one site sees
// four shapes in turn.
function polymorphic_properties(jobs, lane) {
  var receivers = [
    { value: lane },
    { pad0: 0, value: lane + 1 },
    { pad0: 0, pad1: 1, value: lane + 2 },
    { pad0: 0, pad1: 1, pad2: 2, value: lane + 3 }
  ];
  var total = 0;
  for (var job = 0; job < jobs; job++) {
    for (var i = 0; i < 20000; i++) {
      var receiver = receivers[i & 3];
      receiver.value = (receiver.value + i) & 65535;
      total += receiver.value;
    }
  }
  return total;
}
