import { BOUNDS } from '../../api/bounds.ts';

/** Returns the name of a resource's SyncRelease with a number, such as plant-17. */
export const releaseName = (crName: string, number: number): string => `${crName}-${number}`;

/** Returns the number in the name of a resource's SyncRelease; undefined if it isn't one of this resource. */
export function releaseNumber(name: string, crName: string): number | undefined {
  const text = name.startsWith(`${crName}-`) ? name.slice(crName.length + 1) : '';
  const number = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
  return number !== undefined && number <= BOUNDS.count ? number : undefined;
}
