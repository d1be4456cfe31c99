import { stringify } from 'yaml';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import { gatewaySyncStatusSchema } from '../../shared/api/gateway-sync-status.ts';
import { GATEWAY_SYNC, GROUP, type ResourceNames, SYNC_RELEASE, SYNC_REPORT, VERSION } from '../../shared/api/group.ts';
import { approvalsSchema, syncReleaseSpecSchema, syncReleaseStatusSchema } from '../../shared/api/sync-release.ts';
import { syncReportStatusSchema } from '../../shared/api/sync-report.ts';
import { UNOBSERVED } from '../../shared/domain/kubernetes/is-observed.ts';
import { toStructuralSchema } from './json-schema.ts';

type Column = [name: string, jsonPath: string, options?: { type?: string; description?: string; priority?: number }];

const date = { type: 'date' };
/** Only with `--output wide`. */
const wide = { priority: 1 };

const gatewaySyncColumns: Column[] = [
  // The first one that is set.
  ['Ref', ".status['target.ref','pendingRef']", { description: 'The ref that is followed, or will be' }],
  ['Gateways', '.status.gateways.summary', { description: 'Gateways on the resolved commit' }],
  ['Ready', '.status.conditions[?(@.type=="Ready")].status'],
  ['Status', '.status.conditions[?(@.type=="Ready")].reason'],
  ['Rollout', '.status.rollout.summary', { description: 'Progress of the newest commit through the waves' }],
  ['Age', '.metadata.creationTimestamp', date],
  ['Commit', '.status.lastSyncCommitShort', wide],
  ['Profiles', '.status.profileCount', { type: 'integer', ...wide }],
  ['Last Sync', '.status.lastSyncTime', { ...date, ...wide }],
];

const syncReportColumns: Column[] = [
  ['GatewaySync', '.status.crName'],
  ['Gateway', '.status.gateway'],
  ['Profile', '.status.profile'],
  ['State', '.status.state'],
  ['Reason', '.status.reason'],
  ['Ref', '.status.ref'],
  ['Synced', '.status.time', date],
  ['Commit', '.status.commit', wide],
  ['Message', '.status.message', wide],
];

const syncReleaseColumns: Column[] = [
  ['Phase', '.status.phase'],
  ['Result', '.metadata.labels.sync\\.io/release', { description: 'Complete, Rejected, or nothing yet' }],
  ['Ref', '.spec.sources[0].ref'],
  ['Commit', '.spec.sources[0].commit'],
  ['Approved By', '.approvals[-1:].by', { description: 'The last approver' }],
  ['Age', '.metadata.creationTimestamp', date],
  ['Complete', '.status.completedAt', { ...date, ...wide }],
  ['Message', '.status.message', wide],
];

interface Version {
  columns: Column[];
  schema: object;
  subresources?: object;
}

function customResourceDefinition(given: ResourceNames, { columns, schema, subresources }: Version) {
  const { shortName, ...names } = given;
  const additionalPrinterColumns = columns.map(([name, jsonPath, { type = 'string', ...options } = {}]) => {
    return { name, type, jsonPath, ...options };
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind: names.kind,
        listKind: `${names.kind}List`,
        plural: names.plural,
        singular: names.singular,
        shortNames: [shortName],
        categories: ['sync'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns,
          schema: { openAPIV3Schema: { type: 'object', ...schema } },
          subresources,
        },
      ],
    },
  };
}

const identity = { apiVersion: { type: 'string' }, kind: { type: 'string' } };

const definitions = {
  [GATEWAY_SYNC.plural]: customResourceDefinition(GATEWAY_SYNC, {
    columns: gatewaySyncColumns,
    schema: {
      description: 'A GatewaySync keeps the files of gateway pods in sync with a git repository.',
      required: ['metadata', 'spec'],
      'x-kubernetes-validations': [
        {
          rule: '!has(self.spec.webhook) || !has(self.spec.webhook.from) || self.spec.webhook.from != self.metadata.name',
          message: 'spec.webhook.from must be another GatewaySync; remove it to use requests for this one',
        },
      ],
      properties: {
        ...identity,
        metadata: { type: 'object', properties: { name: { type: 'string', maxLength: BOUNDS.name } } },
        spec: toStructuralSchema(gatewaySyncSpecSchema),
        status: { ...toStructuralSchema(gatewaySyncStatusSchema), default: { observedGeneration: UNOBSERVED } },
      },
    },
    subresources: { status: {} },
  }),
  [SYNC_RELEASE.plural]: customResourceDefinition(SYNC_RELEASE, {
    columns: syncReleaseColumns,
    schema: {
      description:
        'A SyncRelease is a commit with the spec.sync that belongs to it, as the controller rolls it out in waves. The controller writes it; approvers add approvals.',
      required: ['spec'],
      'x-kubernetes-validations': [
        {
          rule: '!has(oldSelf.approvals) || (has(self.approvals) && oldSelf.approvals.all(approval, approval in self.approvals))',
          message: 'approvals can only be added',
        },
      ],
      properties: {
        ...identity,
        metadata: { type: 'object' },
        spec: toStructuralSchema(syncReleaseSpecSchema),
        approvals: toStructuralSchema(approvalsSchema),
        status: toStructuralSchema(syncReleaseStatusSchema),
      },
    },
    subresources: { status: {} },
  }),
  [SYNC_REPORT.plural]: customResourceDefinition(SYNC_REPORT, {
    columns: syncReportColumns,
    schema: {
      description:
        'A SyncReport contains the result of the last sync by the agent of the pod with the same name. Only agents write it.',
      properties: { ...identity, metadata: { type: 'object' }, status: toStructuralSchema(syncReportStatusSchema) },
    },
  }),
};

const header = '# Generated from shared/api: run npm run generate.\n';

/** Returns the CRDs as YAML documents by file name: as they are, for kubectl, and as templates of the chart. */
export function generateCrds(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(definitions).flatMap(([plural, definition]) => {
      const yaml = stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false });
      return [
        [`chart/crds/${GROUP}_${plural}.yaml`, header + yaml],
        [`chart/templates/crds/${plural}.yaml`, toTemplate(yaml)],
      ];
    }),
  );
}

/** Turns a CRD into a template with the values of `crds`. Text that looks like a template action is escaped. */
function toTemplate(yaml: string): string {
  const escaped = yaml.replaceAll('{{', '{{ "{{" }}');
  const [before, after] = escaped.split(/(?<=^metadata:\n(?: {2}.*\n)+)/m);
  return [
    '{{- if .Values.crds.install }}\n',
    header,
    before,
    '  labels:\n    {{- include "stoker-operator.labels" (dict "context" . "component" "crds") | nindent 4 }}\n',
    '  {{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n  {{- end }}\n',
    after,
    '{{- end }}\n',
  ].join('');
}
