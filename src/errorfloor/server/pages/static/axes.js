// Scales and ticks for charts drawn by hand.

/** Round places between two numbers, about so many. */
export function ticks(low, high, about = 5) {
  const rough = (high - low) / Math.max(1, about);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((one) => one * power >= rough * 0.999) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

/** Map [low, high] to [from, to]. */
export function scale(low, high, from, to) {
  const width = high - low || 1;
  return (value) => from + ((value - low) / width) * (to - from);
}

/** Draw now, and again whenever the place gets another width. */
export function whenResized(place, draw) {
  let drawnWidth = 0;
  const again = () => {
    const width = Math.floor(place.clientWidth);
    if (width > 0 && width !== drawnWidth) {
      drawnWidth = width;
      draw(width);
    }
  };
  new ResizeObserver(again).observe(place);
  again();
}
