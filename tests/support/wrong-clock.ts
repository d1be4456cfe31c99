/** Flags of Node that set a program's clock off by a number of minutes: `performance.now()` and timers are unchanged. */
export function wrongClock(minutes: number): string[] {
  const code = `
    const Right = Date;
    globalThis.Date = class Date extends Right {
      constructor(...given) { super(...(given.length > 0 ? given : [Date.now()])); }
      static now() { return Right.now() + ${minutes * 60_000}; }
    };`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}
