/** So many small files in 97 folders. */
export const filesOf = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`files/${n % 97}/${n}.json`, `{"n": ${n}}\n`]));
