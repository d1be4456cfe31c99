import { stringify } from 'yaml';
import { BOUNDS } from '../../shared/api/bounds.ts';
import type { CelRule } from '../../shared/api/fields.ts';
import { gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import { gatewaySyncStatusSchema } from '../../shared/api/gateway-sync-status.ts';
import { GATEWAY_SYNC, GROUP, type ResourceNames, SYNC_REPORT, VERSION } from '../../shared/api/group.ts';
import { syncReportStatusSchema } from '../../shared/api/sync-report.ts';
import { UNOBSERVED } from '../../shared/domain/is-observed.ts';
import { type SchemaNode, toStructuralSchema } from './json-schema.ts';

interface PrinterColumn {
  name: string;
  type: 'string' | 'integer' | 'date';
  jsonPath: string;
  description?: string;
  priority?: number;
}

interface CrdParts {
  names: ResourceNames;
  description: string;
  properties: Record<string, SchemaNode>;
  required?: string[];
  rules?: CelRule[];
  columns: PrinterColumn[];
  statusSubresource: boolean;
}

const gatewaySyncColumns: PrinterColumn[] = [
  {
    name: 'Ref',
    type: 'string',
    // The first one that is set.
    jsonPath: ".status['target.ref','pendingRef']",
    description: 'The ref that is followed, or will be',
  },
  {
    name: 'Gateways',
    type: 'string',
    jsonPath: '.status.gateways.summary',
    description: 'Gateways on the resolved commit',
  },
  { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
  {
    name: 'Rollout',
    type: 'string',
    jsonPath: '.status.rollout.summary',
    description: 'Progress of the newest commit through the waves',
  },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Commit', type: 'string', jsonPath: '.status.lastSyncCommitShort', priority: 1 },
  { name: 'Profiles', type: 'integer', jsonPath: '.status.profileCount', priority: 1 },
  { name: 'Last Sync', type: 'date', jsonPath: '.status.lastSyncTime', priority: 1 },
];

const syncReportColumns: PrinterColumn[] = [
  { name: 'GatewaySync', type: 'string', jsonPath: '.status.crName' },
  { name: 'Gateway', type: 'string', jsonPath: '.status.gateway' },
  { name: 'Profile', type: 'string', jsonPath: '.status.profile' },
  { name: 'State', type: 'string', jsonPath: '.status.state' },
  { name: 'Ref', type: 'string', jsonPath: '.status.ref' },
  { name: 'Synced', type: 'date', jsonPath: '.status.time' },
  { name: 'Commit', type: 'string', jsonPath: '.status.commit', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
];

function customResourceDefinition(parts: CrdParts) {
  const { names } = parts;
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
        shortNames: [names.shortName],
        categories: ['sync'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: parts.columns,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: parts.description,
              required: parts.required,
              ...(parts.rules && { 'x-kubernetes-validations': parts.rules }),
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                ...parts.properties,
              },
            },
          },
          ...(parts.statusSubresource ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  };
}

const definitions = {
  [GATEWAY_SYNC.plural]: customResourceDefinition({
    names: GATEWAY_SYNC,
    description: 'A GatewaySync keeps the files of gateway pods in sync with a git repository.',
    required: ['metadata', 'spec'],
    rules: [
      {
        rule: '!has(self.spec.webhook) || !has(self.spec.webhook.from) || self.spec.webhook.from != self.metadata.name',
        message: 'spec.webhook.from must be another GatewaySync; remove it to use requests for this one',
      },
    ],
    properties: {
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: BOUNDS.name } } },
      spec: toStructuralSchema(gatewaySyncSpecSchema),
      status: { ...toStructuralSchema(gatewaySyncStatusSchema), default: { observedGeneration: UNOBSERVED } },
    },
    columns: gatewaySyncColumns,
    statusSubresource: true,
  }),
  [SYNC_REPORT.plural]: customResourceDefinition({
    names: SYNC_REPORT,
    description:
      'A SyncReport contains the result of the last sync by the agent of the pod with the same name. Only agents write it.',
    properties: {
      metadata: { type: 'object' },
      status: toStructuralSchema(syncReportStatusSchema),
    },
    columns: syncReportColumns,
    statusSubresource: false,
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
