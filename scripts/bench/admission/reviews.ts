import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';

export const NAMESPACE = 'bench';

/** The one resource of the namespace, with everything that adds to a sidecar. */
export const gatewaySync = {
  apiVersion: API_VERSION,
  kind: GATEWAY_SYNC.kind,
  metadata: { name: 'site', namespace: NAMESPACE },
  spec: {
    git: {
      repo: 'https://git.example.test/site.git',
      ref: 'main',
      auth: { token: { secretRef: { name: 'git', key: 'token' } } },
    },
    polling: { enabled: false },
    sync: { profiles: { default: { mappings: [{ source: 'a', destination: 'b' }] } } },
  },
};

/** All reviews are the same, so that the sender has little to do. */
const UID = '00000000-0000-0000-0000-000000000000';
const bodies = new Map<string, Buffer>();

/** A review of a StatefulSet's pod, with the annotation at this value; about as large as such a pod is. */
export function review(inject: string): Buffer {
  const known = bodies.get(inject);
  if (known) return known;
  const made = post(JSON.stringify(reviewOf(inject)));
  bodies.set(inject, made);
  return made;
}

/** As many levels of nesting as fit. */
export function deepBody(): Buffer {
  const known = bodies.get('deep');
  if (known) return known;
  const made = post('['.repeat(2_000_000));
  bodies.set('deep', made);
  return made;
}

function reviewOf(inject: string): object {
  const env = Array.from({ length: 40 }, (_, n) => ({ name: `GATEWAY_SETTING_${n}`, value: 'x'.repeat(40) }));
  const fields = Object.fromEntries(env.map(({ name }) => [`k:{"name":"${name}"}`, { '.': {}, 'f:name': {} }]));
  const resource = { group: '', version: 'v1', resource: 'pods' };
  const pod = {
    metadata: {
      name: 'gateway-0',
      generateName: 'gateway-',
      namespace: NAMESPACE,
      labels: { 'app.kubernetes.io/name': 'gateway', 'apps.kubernetes.io/pod-index': '0' },
      annotations: { 'sync.io/inject': inject },
      managedFields: [{ manager: 'kube-controller-manager', operation: 'Update', fieldsV1: { 'f:spec': fields } }],
    },
    spec: {
      securityContext: { runAsUser: 2003, runAsGroup: 2003, fsGroup: 2003 },
      containers: [{ name: 'gateway', image: 'gateway:1', env, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-gateway-0' } }],
    },
  };
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: { uid: UID, namespace: NAMESPACE, operation: 'CREATE', resource, object: pod, oldObject: null },
  };
}

function post(body: string): Buffer {
  const head = [
    'POST /mutate-v1-pod?timeout=10s HTTP/1.1',
    'Host: bench',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from([...head, '', body].join('\r\n'));
}
