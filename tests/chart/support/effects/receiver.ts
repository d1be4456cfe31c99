import { at, count, type Effects, inFirst, onDeployment, programEffects } from './effect.ts';

const receiver = onDeployment('-receiver');
const hosts = [{ host: 'hooks.test', paths: [{ path: '/webhook', pathType: 'Prefix' }] }];
const tls = [{ secretName: 'hooks-tls', hosts: ['hooks.test'] }];
const scaler = (name: string) => at('HorizontalPodAutoscaler', '-receiver', `spec.${name}`);
const service = (name: string) => at('Service', '-receiver', `spec.${name}`);
const ingress = (name: string) => at('Ingress', '-receiver', `spec.${name}`);
const volume = (name: string) =>
  inFirst('Deployment', '-receiver', ({ spec }) => {
    const volumes: { name: string; secret: { secretName: string } }[] = spec.template.spec.volumes ?? [];
    return volumes.find((each) => each.name === name)?.secret.secretName;
  });
const name = 'test-stoker-operator-receiver';
const parents = { 'webhookReceiver.httpRoute.parentRefs': [{ name: 'public' }] };
const routed = { 'webhookReceiver.httpRoute.enabled': true, ...parents };
const route = (key: string) => at('HTTPRoute', '-receiver', `spec.${key}`);
const peers = [{ podSelector: {} }];
const walled = { 'webhookReceiver.networkPolicy.enabled': true };
const policy = (read: (spec: { ingress: { from?: object[] }[]; egress?: object[] }) => unknown) =>
  inFirst('NetworkPolicy', '-receiver', ({ spec }) => read(spec));
const secret = (suffix: string) => at('Secret', suffix, 'data');
const roomy = { 'webhookReceiver.resources.requests.cpu': '100m' };
const scaled = { 'webhookReceiver.autoscaling.enabled': true, ...roomy };

/** Effects of the values of the receiver, which is enabled. */
export const receiverEffects: Effects = prefixed('webhookReceiver', {
  ...programEffects('ghcr.io/stoker-operator/receiver', { suffix: '-receiver', prefix: 'webhookReceiver.' }),
  enabled: { to: false, in: receiver.field('spec.replicas'), is: undefined },
  port: { to: 9999, in: receiver.env('RECEIVER_PORT'), is: '9999' },
  'hmac.secret': { to: 'x', in: secret('-hmac'), is: { 'webhook-secret': 'eA==' } },
  'hmac.secretRef.name': { to: 'mine', in: volume('hmac'), is: 'mine' },
  'hmac.secretRef.key': {
    to: 'mine',
    in: receiver.env('WEBHOOK_HMAC_SECRET_FILE'),
    is: '/etc/webhook/hmac/mine',
    given: { 'webhookReceiver.hmac.secretRef.name': 'mine' },
  },
  'token.secret': { to: 'x', in: secret('-token'), is: { 'webhook-token': 'eA==' } },
  'token.secretRef.name': { to: 'mine', in: volume('token'), is: 'mine' },
  'token.secretRef.key': {
    to: 'mine',
    in: receiver.env('WEBHOOK_BEARER_TOKEN_FILE'),
    is: '/etc/webhook/token/mine',
    given: { 'webhookReceiver.token.secretRef.name': 'mine' },
  },
  'ingress.enabled': { to: false, in: count('Ingress'), is: 0 },
  'ingress.ingressClassName': { to: 'nginx', in: ingress('ingressClassName'), is: 'nginx' },
  'ingress.annotations': {
    to: { issuer: 'x' },
    in: at('Ingress', '-receiver', 'metadata.annotations'),
    is: { issuer: 'x' },
  },
  'ingress.hosts': {
    to: hosts,
    in: inFirst('Ingress', '-receiver', ({ spec }) => spec.rules.map(({ host }: { host?: string }) => host)),
    is: ['hooks.test'],
  },
  'ingress.tls': { to: tls, in: ingress('tls'), is: tls },
  'httpRoute.enabled': { to: true, in: count('HTTPRoute'), is: 1, given: parents },
  'httpRoute.parentRefs': { to: [{ name: 'other' }], in: route('parentRefs'), is: [{ name: 'other' }], given: routed },
  'httpRoute.hostnames': { to: ['hooks.test'], in: route('hostnames'), is: ['hooks.test'], given: routed },
  'httpRoute.annotations': {
    to: { note: 'x' },
    in: at('HTTPRoute', '-receiver', 'metadata.annotations'),
    is: { note: 'x' },
    given: routed,
  },
  'networkPolicy.enabled': { to: true, in: at('NetworkPolicy', '-receiver', 'metadata.name'), is: name },
  'networkPolicy.from': { to: peers, in: policy(({ ingress }) => ingress[0]?.from), is: peers, given: walled },
  'networkPolicy.egress': {
    to: [{ to: peers }],
    in: policy(({ egress }) => egress),
    is: [{ to: peers }],
    given: walled,
  },
  'tls.secretName': { to: 'receiver-tls', in: volume('tls'), is: 'receiver-tls' },
  'service.type': { to: 'NodePort', in: service('type'), is: 'NodePort' },
  'service.port': { to: 443, in: at('Service', '-receiver', 'spec.ports.0.port'), is: 443 },
  'service.annotations': {
    to: { scheme: 'x' },
    in: at('Service', '-receiver', 'metadata.annotations'),
    is: { scheme: 'x' },
  },
  'service.loadBalancerSourceRanges': {
    to: ['192.0.2.0/24'],
    in: service('loadBalancerSourceRanges'),
    is: ['192.0.2.0/24'],
  },
  'service.ipFamilyPolicy': { to: 'PreferDualStack', in: service('ipFamilyPolicy'), is: 'PreferDualStack' },
  'service.externalTrafficPolicy': { to: 'Local', in: service('externalTrafficPolicy'), is: 'Local' },
  maxBodyBytes: { to: 25_000_000, in: receiver.env('MAX_BODY_BYTES'), is: '25000000' },
  maxConnections: { to: 2_000_000, in: receiver.env('MAX_CONNECTIONS'), is: '2000000' },
  maxConnectionsPerAddress: { to: 40, in: receiver.env('MAX_CONNECTIONS_PER_ADDRESS'), is: '40' },
  maxAuthFailuresPerMinute: { to: 0, in: receiver.env('MAX_AUTH_FAILURES_PER_MINUTE'), is: '0' },
  trustedProxyHops: { to: 2, in: receiver.env('TRUSTED_PROXY_HOPS'), is: '2' },
  replicaCount: { to: 3, in: receiver.field('spec.replicas'), is: 3 },
  'autoscaling.enabled': { to: true, in: receiver.field('spec.replicas'), is: undefined, given: roomy },
  'autoscaling.minReplicas': { to: 3, in: scaler('minReplicas'), is: 3, given: scaled },
  'autoscaling.maxReplicas': { to: 4, in: scaler('maxReplicas'), is: 4, given: scaled },
  'autoscaling.targetCPUUtilizationPercentage': {
    to: 50,
    in: at('HorizontalPodAutoscaler', '-receiver', 'spec.metrics.0.resource.target.averageUtilization'),
    is: 50,
    given: scaled,
  },
  terminationGracePeriodSeconds: { to: 60, in: receiver.pod('terminationGracePeriodSeconds'), is: 60 },
});

function prefixed(prefix: string, effects: Effects): Effects {
  return Object.fromEntries(Object.entries(effects).map(([name, effect]) => [`${prefix}.${name}`, effect]));
}
