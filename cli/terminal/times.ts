const STEPS: [ms: number, unit: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
];

/** Formats the age of a time as kubectl does: `12s`, `3m`, `2d`. Empty if the time is invalid. */
export function ageOf(time: string | undefined, now: number): string {
  const at = Date.parse(time ?? '');
  if (Number.isNaN(at)) return '';
  const ms = Math.max(0, now - at);
  const [size, unit] = STEPS.find(([step]) => ms >= step * 2) ?? [1000, 's'];
  return `${Math.floor(ms / size)}${unit}`;
}
