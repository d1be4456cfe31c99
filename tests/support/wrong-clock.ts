/** Flags of Node that make a program's clock wrong by so many minutes: `performance.now()` and timers stay as they are. */
export function wrongClock(minutes: number): string[] {
  const code = `
    const Right = Date;
    globalThis.Date = class Date extends Right {
      constructor(...given) { super(...(given.length > 0 ? given : [Date.now()])); }
      static now() { return Right.now() + ${minutes * 60_000}; }
    };`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}
