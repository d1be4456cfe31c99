import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import {
  boundedKeys,
  cel,
  destinationPath,
  duration,
  durationBetween,
  integer,
  name,
  refGlob,
  repositoryGlob,
  secretKeyRef,
  secretName,
} from './fields.ts';
import type { GatewaySyncStatus } from './gateway-sync-status.ts';
import { gitSchema } from './git.ts';
import type { ObjectMeta } from './object-meta.ts';
import { rolloutSchema } from './rollout.ts';
import { syncSchema } from './sync.ts';

const pollingSchema = v.pipe(
  v.object({
    enabled: v.optional(
      v.pipe(v.boolean(), v.description('Whether the repository is polled. False: webhooks only.')),
      true,
    ),
    interval: v.optional(duration('Time between two polls, 5s to 24h.'), '60s'),
  }),
  v.description('How often the repository is asked for changes.'),
);

/** A list of globs, bounded together as well as one by one. */
const globs = (glob: v.GenericSchema<string>, maxLength: number, description: string) =>
  v.optional(
    v.pipe(
      v.array(glob),
      v.maxLength(BOUNDS.list),
      cel({
        rule: `self.map(glob, size(glob)).sum() <= ${maxLength}`,
        message: `must have at most ${maxLength} characters in all globs together`,
      }),
      v.description(description),
    ),
    [],
  );

const webhookSchema = v.pipe(
  v.object({
    allowedRefs: globs(
      refGlob('A glob of *, **, ?, [a-z], [!a-z] and {a,b}, such as v* or refs/heads/release/*.'),
      BOUNDS.allowedRefs,
      'Refs that a webhook may ask for. Empty: any tag, and the ref in spec.git.ref.',
    ),
    repositories: globs(
      repositoryGlob('A repository as org/repo or host/org/repo, with *, **, ? and {a,b}.'),
      BOUNDS.repositories,
      'Other repositories whose webhooks are accepted, such as a mirror or an earlier name. Webhooks about spec.git.repo always are.',
    ),
  }),
  v.description('What a webhook may ask for, and which repositories it may come from.'),
);

const callTimeout = (description: string) => durationBetween('1s', '5m', description);

const gatewayPath = (description: string) =>
  v.pipe(
    v.string(),
    v.maxLength(BOUNDS.text),
    cel({
      rule: "self.startsWith('/') && !self.startsWith('//')",
      message: 'must be a path that begins with a single /',
    }),
    v.description(description),
  );

const reloadRequestSchema = v.object({
  method: v.optional(v.pipe(v.picklist(['GET', 'POST', 'PUT']), v.description('HTTP method.')), 'POST'),
  path: gatewayPath('Path on the gateway in the same pod.'),
  headersFrom: v.optional(
    v.pipe(
      v.array(
        v.object({ name: name('Name of the header.'), secretRef: secretKeyRef('The Secret that holds its value.') }),
      ),
      v.maxLength(BOUNDS.headers),
      v.description('Headers whose values come from Secrets.'),
    ),
  ),
  expectStatus: v.optional(integer(100, 599, 'Status that means success. By default any 2xx.')),
  timeout: v.optional(callTimeout('Time for this call, 1s to 5m. Left out: reload.timeout.')),
});

const readyPathSchema = gatewayPath('Path that answers 2xx once the gateway can be told to reload.');

const verifyRequestSchema = v.object({
  path: gatewayPath('Path on the gateway in the same pod.'),
  expectStatus: v.optional(integer(100, 599, 'Status that means that the gateway is well. Left out: any 2xx.')),
});

const verifySchema = v.pipe(
  v.object({
    requests: v.optional(
      v.pipe(
        v.array(verifyRequestSchema),
        v.maxLength(BOUNDS.reloadRequests),
        v.description('Calls that must be answered well. The preset ignition adds its own.'),
      ),
    ),
    for: v.optional(durationBetween('0s', '24h', 'Time for which all must be well. Left out: 60s.')),
    interval: v.optional(durationBetween('1s', '10m', 'Time between two looks. Left out: 5s.')),
    failureThreshold: v.optional(
      integer(1, 100, 'Looks in a row that must go wrong before the gateway counts as failed. Left out: 3.'),
    ),
  }),
  v.description(
    'How to see whether the gateway is well with a new commit: after the reload, in the agent. A gateway that is not has failed the rollout.',
  ),
);

const gatewaySchema = v.pipe(
  v.object({
    verify: v.optional(verifySchema),
    port: v.optional(
      integer(1, 65_535, 'Port of the gateway inside the pod. Pods get it when they are created.'),
      8088,
    ),
    tls: v.optional(v.pipe(v.boolean(), v.description('Whether the gateway speaks https on that port.')), false),
    api: v.optional(
      v.pipe(
        v.object({
          secretName: secretName('Name of the Secret with the API key.'),
          secretKey: v.optional(secretName('Key inside that Secret.'), 'apiKey'),
        }),
        v.description("The gateway's API key, for presets that need one."),
      ),
    ),
    reload: v.optional(
      v.pipe(
        v.object({
          preset: v.optional(
            v.pipe(v.picklist(['none', 'ignition']), v.description('A known product, or none.')),
            'none',
          ),
          requests: v.optional(
            v.pipe(
              v.array(reloadRequestSchema),
              v.maxLength(BOUNDS.reloadRequests),
              cel({
                rule: `self.map(call, has(call.headersFrom) ? size(call.headersFrom) : 0).sum() <= ${BOUNDS.allHeaders}`,
                message: `must have at most ${BOUNDS.allHeaders} headers in all calls together`,
              }),
              v.description('Calls to make after a change.'),
            ),
          ),
          readyPath: v.optional(readyPathSchema),
          touchFile: v.optional(
            destinationPath(
              'File in the data volume to touch after a change, for gateways that watch a file: it then holds the commit and the time.',
            ),
          ),
          timeout: v.optional(callTimeout('Time for each call to the gateway, 1s to 5m.'), '10s'),
        }),
        v.description('How to notify the gateway that its files changed.'),
      ),
    ),
  }),
  cel({
    rule: "!has(self.reload) || !has(self.reload.preset) || self.reload.preset != 'ignition' || has(self.api)",
    message: 'the preset ignition needs an API key of the gateway: name its Secret in spec.gateway.api',
  }),
  v.description('The gateway in the same pod.'),
);

const resourceListSchema = (description: string) =>
  v.pipe(
    v.record(
      v.string(),
      v.pipe(
        v.any(),
        v.metadata({ 'x-kubernetes-int-or-string': true, maxLength: BOUNDS.quantity }),
        v.description('A quantity, such as 50m or 64Mi.'),
      ),
    ),
    v.maxEntries(8),
    boundedKeys(BOUNDS.resourceName),
    v.description(description),
  );

const agentSchema = v.pipe(
  v.object({
    image: v.optional(
      v.pipe(
        v.object({
          repository: v.optional(name('Image repository.', BOUNDS.text)),
          tag: v.optional(name('Image tag.', 128)),
          pullPolicy: v.optional(
            v.pipe(v.picklist(['Always', 'IfNotPresent', 'Never']), v.description('Image pull policy.')),
          ),
        }),
        v.description('Image of the agent, where it differs from the chart value agentImage.'),
      ),
    ),
    resources: v.optional(
      v.pipe(
        v.object({
          requests: v.optional(resourceListSchema('What the sidecar asks for.')),
          limits: v.optional(resourceListSchema('What the sidecar may use.')),
        }),
        v.description('Resources of the sidecar container.'),
      ),
    ),
  }),
  v.description('The injected sidecar.'),
);

/** The spec of a GatewaySync: the source of the CRD's schema, of the types and of the reference. */
export const gatewaySyncSpecSchema = v.pipe(
  v.object({
    git: gitSchema,
    polling: v.optional(pollingSchema, {}),
    webhook: v.optional(webhookSchema, {}),
    sync: syncSchema,
    gateway: v.optional(gatewaySchema, {}),
    agent: v.optional(agentSchema),
    rollout: v.optional(rolloutSchema),
    history: v.optional(
      integer(
        0,
        BOUNDS.history,
        'Commits that all gateways had verified and that can be gone back to, where spec.rollout is set. Left out: 10.',
      ),
    ),
    paused: v.optional(
      v.pipe(v.boolean(), v.description('Whether the whole resource is paused: nothing is resolved or applied.')),
      false,
    ),
  }),
  v.description('What to keep in sync.'),
);

/** A GatewaySync's spec as the API server stores it, defaults applied. */
export type GatewaySyncSpec = v.InferOutput<typeof gatewaySyncSpecSchema>;

/** A GatewaySync as the API server returns it. */
export interface GatewaySync {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: GatewaySyncSpec;
  status?: GatewaySyncStatus;
}
