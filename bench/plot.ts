/** The latency table as a picture: plain SVG, one line per mode. */
export interface Latency {
  readonly mode: string;
  readonly services: number;
  /** Median seconds. */
  readonly first: number;
  readonly middle: number;
  readonly last: number;
}

const WIDTH = 640;
const HEIGHT = 360;
const LEFT = 70;
const RIGHT = 170;
const TOP = 40;
const BOTTOM = 50;
const LINE_HEIGHT = 14;
const COLOURS = ['#c0392b', '#d68910', '#1f618d', '#117a65'];

/** Connection time to the last Service over the number of Services, both axes logarithmic. */
export function plotLatency(results: readonly Latency[]): string {
  const sizes = [...new Set(results.map(({ services }) => services))].sort((a, b) => a - b);
  const times = results.map(({ last }) => last * 1e6);
  const low = 10 ** Math.floor(Math.log10(Math.min(...times)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...times)));
  const x = (services: number): number =>
    LEFT + scaled(services, sizes[0] ?? 1, sizes.at(-1) ?? 10) * (WIDTH - LEFT - RIGHT);
  const y = (microseconds: number): number =>
    HEIGHT - BOTTOM - scaled(microseconds, low, high) * (HEIGHT - TOP - BOTTOM);
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    '<title>New connections to the last Service, by mode and number of Services</title>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    text(LEFT, 20, 'New connection to the last Service: median, µs'),
    ...sizes.map((size) => text(x(size), HEIGHT - BOTTOM + 20, size.toLocaleString('en'), 'middle')),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, 'Services', 'middle'),
  ];
  for (let tick = low; tick <= high; tick *= 10) {
    lines.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(tick)}" y2="${y(tick)}" stroke="#ddd"/>`,
      text(LEFT - 8, y(tick) + 4, tick.toLocaleString('en'), 'end'),
    );
  }
  const labels: { mode: string; at: number; colour: string }[] = [];
  for (const [index, mode] of [...new Set(results.map((result) => result.mode))].entries()) {
    const colour = COLOURS[index % COLOURS.length] ?? '#333';
    const points = results
      .filter((result) => result.mode === mode)
      .sort((a, b) => a.services - b.services)
      .map(({ services, last }) => ({ x: x(services), y: y(last * 1e6) }));
    lines.push(
      `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map((point) => `${round(point.x)},${round(point.y)}`).join(' ')}"/>`,
      ...points.map(
        (point) => `<circle cx="${round(point.x)}" cy="${round(point.y)}" r="3" fill="${colour}"/>`,
      ),
    );
    labels.push({ mode, colour, at: (points.at(-1)?.y ?? 0) + 4 });
  }
  // Lines may end in one place; their names must not.
  let lowest = Number.NEGATIVE_INFINITY;
  for (const { mode, colour, at } of labels.sort((a, b) => a.at - b.at)) {
    lowest = Math.max(at, lowest + LINE_HEIGHT);
    lines.push(text(WIDTH - RIGHT + 10, lowest, mode, 'start', colour));
  }
  return `${[...lines, '</svg>'].join('\n')}\n`;
}

/** Where a value is between two others, 0 to 1, on a logarithmic scale. */
function scaled(value: number, low: number, high: number): number {
  return high === low ? 0 : Math.log(value / low) / Math.log(high / low);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function text(x: number, y: number, content: string, anchor = 'start', fill = '#333'): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${fill}">${content}</text>`;
}
