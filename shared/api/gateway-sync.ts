import * as v from 'valibot';
import { BOUNDS } from './bounds.ts';
import {
  boundedKeys,
  cel,
  destinationPath,
  duration,
  durationBetween,
  flag,
  integer,
  list,
  map,
  name,
  object,
  oneOf,
  refGlob,
  repositoryGlob,
  secretKeyRef,
  secretName,
  text,
} from './fields.ts';
import type { GatewaySyncStatus } from './gateway-sync-status.ts';
import { gitSchema } from './git.ts';
import type { ObjectMeta } from './object-meta.ts';
import { rolloutSchema } from './rollout.ts';
import { syncSchema } from './sync.ts';

const pollingSchema = object('Polling of the repository for changes.', {
  enabled: v.optional(
    flag('Poll the repository. If false, new commits are picked up only from webhooks and requests.'),
    true,
  ),
  interval: v.optional(duration('Time between two polls, 5s to 24h.'), '60s'),
});

/** A list of globs with a limit on their total length. */
const globs = (glob: v.GenericSchema<string>, maxLength: number, description: string) =>
  v.optional(
    v.pipe(
      list(glob, BOUNDS.list, description),
      cel({
        rule: `self.map(glob, size(glob)).sum() <= ${maxLength}`,
        message: `globs must have at most ${maxLength} characters in total; combine or remove some`,
      }),
    ),
    [],
  );

const webhookSchema = object('Source of requests, and the refs and repositories that webhooks are accepted for.', {
  from: v.optional(
    v.pipe(
      name(
        'Another GatewaySync in this namespace, with the same repository. If it follows a request, this one handles the same request. Requests for this one are ignored. If omitted, each GatewaySync needs its own webhook for releases.',
        BOUNDS.name,
      ),
      v.regex(/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/),
    ),
  ),
  allowedRefs: globs(
    refGlob('A glob of *, **, ?, [a-z], [!a-z], and {a,b}, such as v* or refs/heads/release/*.'),
    BOUNDS.allowedRefs,
    'Refs that a webhook is allowed to request. If empty, any tag, and the ref in spec.git.ref. Ignored with spec.git.semver, because requests do not choose the tag.',
  ),
  repositories: globs(
    repositoryGlob('A repository such as org/repo or host/org/repo, with *, **, ?, and {a,b}.'),
    BOUNDS.repositories,
    'Other repositories whose webhooks are accepted, such as a mirror or a former name. Webhooks of spec.git.repo are always accepted.',
  ),
});

const callTimeout = (description: string) => durationBetween('1s', '5m', description);

const gatewayPath = (description: string) =>
  v.pipe(
    text(description),
    cel({
      rule: "self.startsWith('/') && !self.startsWith('//')",
      message: 'must be a path with exactly one leading /',
    }),
  );

const headerSchema = v.object({
  name: v.pipe(name('Name of the header.'), v.regex(/^[A-Za-z0-9-]+$/)),
  value: v.pipe(text('Value of the header, in ASCII.'), v.regex(/^[ -~]*$/)),
});

/** Fields of a request to the gateway, except for its method. */
const requestFields = {
  path: gatewayPath('Path on the gateway in the same pod.'),
  body: v.optional(text('Body, with templates as in files. Specify its Content-Type in headers.', BOUNDS.body)),
  headers: v.optional(
    list(headerSchema, BOUNDS.headers, 'Headers with these values. The agent adds X-Sync-Commit and X-Sync-Ref.'),
  ),
  headersFrom: v.optional(
    list(
      v.object({ name: name('Name of the header.'), secretRef: secretKeyRef('Secret that contains its value.') }),
      BOUNDS.headers,
      'Headers with values from Secrets.',
    ),
  ),
  expectStatus: v.optional(integer(100, 599, 'HTTP status that means success. If omitted, any 2xx.')),
};

const reloadRequestSchema = v.pipe(
  v.object({
    method: v.optional(oneOf(['GET', 'POST', 'PUT'], 'HTTP method. If omitted, POST.')),
    ...requestFields,
    timeout: v.optional(callTimeout('Timeout of this call, 1s to 5m. If omitted, reload.timeout.')),
  }),
  cel({
    rule: "!has(self.body) || !has(self.method) || self.method != 'GET'",
    message: 'a GET request has no body; use POST or PUT, or remove the body',
  }),
);

const signalSchema = object(
  'Signal that the agent sends after a change, before the requests. The pod needs shareProcessNamespace: true.',
  {
    name: oneOf(['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGTERM', 'SIGWINCH'], 'Name of the signal.'),
    process: v.pipe(
      name('Name of the command, or of its program without the directory. The oldest process with this name gets it.'),
      v.regex(/^[ -.0-~]+$/),
    ),
  },
);

/** Any JSON that isn't an object or a list. CEL can't check it, so agents do. */
const scalar = (description: string) =>
  v.pipe(
    v.any() as v.GenericSchema<string | number | boolean | null>,
    v.metadata({ nullable: true, 'x-kubernetes-preserve-unknown-fields': true }),
    v.description(description),
  );

const expectSchema = v.pipe(
  object('Content of the response of a healthy gateway. At most 256 KiB of the response are read.', {
    json: v.optional(
      list(
        v.object({
          path: v.pipe(
            text('JSON Pointer to a value (RFC 6901), such as /status/0/state. An empty text is the whole response.'),
            v.regex(/^(\/([^/~]|~[01])*)*$/),
          ),
          equals: v.optional(
            scalar('The value: a string, with templates as in files, a number, true, or false. If omitted, null.'),
          ),
        }),
        BOUNDS.expectations,
        'Values in a response in JSON.',
      ),
    ),
    contains: v.optional(name('Text in the response, with templates as in files.', BOUNDS.text)),
  }),
  cel({
    rule: 'has(self.contains) || (has(self.json) && size(self.json) > 0)',
    message: 'specify json or contains, or remove expect',
  }),
);

const verifyRequestSchema = v.pipe(
  v.object({
    method: v.optional(
      oneOf(['GET', 'POST'], 'HTTP method. If omitted, GET. Checks repeat, so use POST without effects.'),
    ),
    ...requestFields,
    expect: v.optional(expectSchema),
  }),
  cel({
    rule: "!has(self.body) || (has(self.method) && self.method == 'POST')",
    message: 'a GET request has no body; set method to POST, or remove the body',
  }),
);

const verifySchema = object(
  'Health checks that the agent runs after the reload. A gateway that fails them fails the rollout.',
  {
    requests: v.optional(
      list(verifyRequestSchema, BOUNDS.reloadRequests, 'Requests that must succeed. The preset ignition adds its own.'),
    ),
    for: v.optional(durationBetween('0s', '24h', 'Time for which every check must succeed. If omitted, 60s.')),
    interval: v.optional(durationBetween('1s', '10m', 'Time between two checks. If omitted, 5s.')),
    failureThreshold: v.optional(
      integer(1, 100, 'Consecutive failed checks after which the gateway has failed. If omitted, 3.'),
    ),
  },
);

/** CEL for the number of headers with values from Secrets in a section of `spec.gateway`. */
const headersOf = (section: string) =>
  `(has(self.${section}) && has(self.${section}.requests) ? self.${section}.requests.map(call, has(call.headersFrom) ? size(call.headersFrom) : 0).sum() : 0)`;

const gatewaySchema = v.pipe(
  object('The gateway in the same pod.', {
    verify: v.optional(verifySchema),
    port: v.optional(
      integer(1, 65_535, 'Port of the gateway inside the pod. A change applies to pods created after it.'),
      8088,
    ),
    tls: v.optional(flag('Use HTTPS on that port.'), false),
    api: v.optional(
      object("The gateway's API key, for presets that need one.", {
        secretName: secretName('Name of the Secret with the API key.'),
        secretKey: v.optional(secretName('Key inside that Secret.'), 'apiKey'),
      }),
    ),
    ignition: v.optional(
      object('Settings of the preset ignition.', {
        designerTimeout: v.optional(
          durationBetween(
            '0s',
            '24h',
            'Time for which a change waits for Designer sessions, if designerSessionPolicy is wait. After it, the gateway has the state Error, and the change still waits. If omitted, 5m.',
          ),
        ),
      }),
    ),
    reload: v.optional(
      object('Notification of the gateway after its files changed.', {
        preset: v.optional(oneOf(['none', 'ignition'], 'Calls for a known product, or none.'), 'none'),
        requests: v.optional(
          list(reloadRequestSchema, BOUNDS.reloadRequests, 'Requests that the agent sends after a change.'),
        ),
        readyPath: v.optional(gatewayPath('Path that returns 2xx once the gateway can reload.')),
        touchFile: v.optional(
          destinationPath(
            'File in the data volume that the agent touches after a change, for gateways that watch a file. It contains the commit and the time.',
          ),
        ),
        signal: v.optional(signalSchema),
        timeout: v.optional(callTimeout('Timeout of each call to the gateway, 1s to 5m.'), '10s'),
      }),
    ),
  }),
  cel(
    {
      rule: "!has(self.reload) || !has(self.reload.preset) || self.reload.preset != 'ignition' || has(self.api)",
      message: 'the preset ignition requires an API key of the gateway; specify its Secret in spec.gateway.api',
    },
    {
      rule: `${headersOf('reload')} + ${headersOf('verify')} <= ${BOUNDS.allHeaders}`,
      message: `requests must have at most ${BOUNDS.allHeaders} headers from Secrets in total; remove some`,
    },
  ),
);

const quantity = v.pipe(
  v.any(),
  v.metadata({ 'x-kubernetes-int-or-string': true, maxLength: BOUNDS.quantity }),
  v.description('A quantity, such as 50m or 64Mi.'),
);

const resourceListSchema = (description: string) =>
  v.pipe(map(quantity, 8, description), boundedKeys(BOUNDS.resourceName));

const agentSchema = object('The injected sidecar.', {
  image: v.optional(
    object('Image of the agent. Omitted fields use the chart value agentImage.', {
      repository: v.optional(name('Image repository.', BOUNDS.text)),
      tag: v.optional(name('Image tag.', 128)),
      pullPolicy: v.optional(oneOf(['Always', 'IfNotPresent', 'Never'], 'Image pull policy.')),
    }),
  ),
  resources: v.optional(
    object('Resources of the sidecar container.', {
      requests: v.optional(resourceListSchema('Resource requests of the sidecar.')),
      limits: v.optional(resourceListSchema('Resource limits of the sidecar.')),
    }),
  ),
});

/** The spec of a GatewaySync: the source of the CRD's schema, the types, and the reference. */
export const gatewaySyncSpecSchema = object('Desired state of the gateways.', {
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
      'Maximum number of complete releases to keep for rollbacks, if spec.rollout is set. If omitted, 10.',
    ),
  ),
  paused: v.optional(flag('Pause the whole resource: nothing is resolved or applied.'), false),
});

/** A GatewaySync's spec as the API server stores it, with defaults applied. */
export type GatewaySyncSpec = v.InferOutput<typeof gatewaySyncSpecSchema>;

/** A GatewaySync as the API server returns it. */
export interface GatewaySync {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: GatewaySyncSpec;
  status?: GatewaySyncStatus;
}
