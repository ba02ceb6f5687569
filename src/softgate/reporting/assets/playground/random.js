// Pseudo-random numbers from a seed, the same in every browser.

// Uniform on [0, 1) with 53 bits: xoshiro128** (Blackman & Vigna 2018), seeded by splitmix32.
function uniforms(seed) {
  let state = seed >>> 0;
  const start = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  const rotated = (word, by) => (word << by) | (word >>> (32 - by));
  let a = start(), b = start(), c = start(), d = start();
  const word = () => {
    const result = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotated(d, 11);
    return result;
  };
  return () => ((word() >>> 5) * 67108864 + (word() >>> 6)) / 9007199254740992;
}

// Standard normal numbers, two from two uniform ones (Box & Muller 1958).
function fillNormal(array, uniform) {
  for (let i = 0; i < array.length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform())), angle = 2 * Math.PI * uniform();
    array[i] = radius * Math.cos(angle);
    if (i + 1 < array.length) array[i + 1] = radius * Math.sin(angle);
  }
  return array;
}
