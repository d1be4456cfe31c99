import type { ResolvedProfile } from '../../shared/domain/resolve-profile.ts';
import type { WatchedResource } from './watched-resource.ts';

type Spec = WatchedResource['spec'];

/** What a GatewaySync can ask for and this version of the agent cannot do; a check gives true where it asks for it. */
const checks: { field: string; isUsed: (spec: Spec, profile: ResolvedProfile) => boolean }[] = [
  { field: 'spec.git.submodules', isUsed: ({ git }) => git.submodules === true },
];

/** Fields that are in use and that the agent would have to ignore: it refuses them instead. */
export function unsupportedFields(spec: Spec, profile: ResolvedProfile): string[] {
  return checks.flatMap(({ field, isUsed }) => (isUsed(spec, profile) ? [field] : []));
}
