/** Leaves out some fields of an object. */
export function omit<T extends object, Key extends keyof T>(object: T, ...keys: Key[]): Omit<T, Key> {
  const left = Object.entries(object).filter(([key]) => !keys.includes(key as Key));
  return Object.fromEntries(left) as Omit<T, Key>;
}
