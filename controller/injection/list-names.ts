const LISTED = 20;

/** Names in the order of the alphabet for a message, which stays short however many there are. */
export function listNames(names: string[]): string {
  const sorted = [...names].sort();
  const rest = sorted.length - LISTED;
  return `${sorted.slice(0, LISTED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
