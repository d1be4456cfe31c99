export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type OptionalKey<T> = { [Key in keyof T]-?: undefined extends T[Key] ? Key : never }[keyof T];
/** Makes the fields that can be undefined optional. */
type Defined<T> = Omit<T, OptionalKey<T>> & { [Key in OptionalKey<T>]?: Exclude<T[Key], undefined> };

/** A copy without the fields that are undefined. */
export function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** A copy without some of the fields. */
export function omit<T extends object, K extends keyof T>(object: T, ...names: readonly K[]): Omit<T, K> {
  const left = { ...object };
  for (const name of names) delete left[name];
  return left;
}
