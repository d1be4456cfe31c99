import type { GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import { type Choice, denied } from './denied.ts';

/** Settings that decide about the image of sidecars, besides the resource. */
export interface AgentImages {
  /** Image used if the resource specifies none. */
  defaultImage: string;
  /** Repositories allowed besides that of the default image: exact, or all below `…/*`; empty for any. */
  allowedRepositories: string[];
}

/** Builds the reference of the agent's image, and checks it against the list of repositories. */
export function chooseAgentImage(
  { agent }: Pick<GatewaySyncSpec, 'agent'>,
  images: AgentImages,
): Choice<{ image: string }> {
  const byDefault = splitImage(images.defaultImage);
  const repository = agent?.image?.repository ?? byDefault.repository;
  const version = agent?.image?.tag === undefined ? byDefault.version : `:${agent.image.tag}`;
  const allowed = [...new Set([byDefault.repository, ...images.allowedRepositories])];
  if (images.allowedRepositories.length > 0 && !allowed.some((pattern) => matches(pattern, repository))) {
    return denied(
      `spec.agent.image.repository is ${repository}, but the operator allows only ${allowed.join(', ')}; use one of them, or have yours added to the chart value agentImage.allowedRepositories`,
      'resource',
    );
  }
  return { kind: 'chosen', image: `${repository}${version}` };
}

function matches(pattern: string, repository: string): boolean {
  return pattern.endsWith('/*') ? repository.startsWith(pattern.slice(0, -1)) : repository === pattern;
}

/** The version is the tag or the digest, or both, with the character before it. */
function splitImage(image: string): { repository: string; version: string } {
  const end = image.slice(image.lastIndexOf('/') + 1).search(/[:@]/);
  if (end === -1) return { repository: image, version: ':latest' };
  const at = image.lastIndexOf('/') + 1 + end;
  return { repository: image.slice(0, at), version: image.slice(at) };
}
