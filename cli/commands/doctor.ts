import { docsAt } from '../../shared/docs-site.ts';
import { isBug } from '../../shared/errors.ts';
import { version } from '../../shared/version.ts';
import { type Diagnosis, diagnose, unreachable } from '../checks/diagnose.ts';
import { connect } from '../client/connect.ts';
import { attempt } from '../client/explain.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { accessArgs, checkScope, formatOf, makeCommand, outputArgs } from '../command-support/command.ts';
import { type Scope, takeSurvey } from '../survey/take-survey.ts';
import { drawData } from '../terminal/data.ts';
import { drawDiagnosis } from '../views/draw-doctor.ts';

/** `kubectl stoker doctor`: diagnoses problems, from the CRDs to the sidecar of each pod. */
export const doctor = makeCommand({
  name: 'doctor',
  summary: 'Diagnose problems, from the CRDs to the sidecar of each pod',
  details: [
    'Checks the cluster, the operator, injection, and permissions, then the namespace with its GatewaySyncs and pods. Each finding is marked ✓ (passed), ! (needs attention or could not be checked), or ✗ (failed), with the next step and a link to the docs.',
    "Exits with 1 if a check failed, and with 3 if the cluster is unreachable or denies access, even if only to GatewaySyncs. It only reads, with your own permissions. Other objects that you can't read, and those that the API server doesn't return in time, are marked ! and are not failures. Values of Secrets are never shown.",
    'If you specify a name, only this GatewaySync and its pods are checked after the cluster.',
  ],
  examples: [
    { line: 'doctor -n gateways', does: 'Check the cluster and one namespace' },
    { line: 'doctor plant -n gateways', does: 'Check one GatewaySync and its pods' },
    { line: 'doctor --all-namespaces', does: 'Check all namespaces that have a GatewaySync' },
    { line: 'doctor -o json', does: 'Print the findings as JSON' },
  ],
  args: {
    name: { type: 'positional', required: false, description: 'GatewaySync. Default: all in the namespace.' },
    'all-namespaces': { type: 'boolean', alias: 'A', description: 'Check all namespaces that have a GatewaySync.' },
    'operator-namespace': {
      type: 'string',
      valueHint: 'NAME',
      description: 'Namespace of the operator. Default: all that you can read.',
    },
    ...outputArgs,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const allNamespaces = args['all-namespaces'] === true;
    checkScope(args);
    const scope = { name: args.name, allNamespaces, operatorNamespace: args['operator-namespace'] };
    const { diagnosis, status } = await examine(connect(args, host), scope);
    const linked = linkPages(diagnosis);
    if (format) host.print(drawData(linked, format));
    else host.print(`${drawDiagnosis(linked, host).join('\n')}\n`);
    return status;
  },
});

/** Replaces the pages of findings with their URLs in the documentation of this version. */
const linkPages = ({ sections, totals }: Diagnosis): Diagnosis => ({
  totals,
  sections: sections.map(({ title, findings }) => ({
    title,
    findings: findings.map((finding) => (finding.page ? { ...finding, page: docsAt(version, finding.page) } : finding)),
  })),
});

interface Examination {
  diagnosis: Diagnosis;
  status: ExitStatus;
}

/** Runs the checks. If the cluster is unreachable, the result is one finding. */
async function examine(access: ReturnType<typeof connect>, scope: Scope): Promise<Examination> {
  try {
    const survey = await attempt(access, { doing: 'query the API server' }, () => takeSurvey(access, scope));
    const diagnosis = diagnose(survey);
    const isDenied = survey.namespaces.every(
      ({ gatewaySyncs }) => gatewaySyncs.kind === 'hidden' && gatewaySyncs.why === 'forbidden',
    );
    if (diagnosis.totals.failed > 0) return { diagnosis, status: EXIT.failed };
    return { diagnosis, status: isDenied && survey.namespaces.length > 0 ? EXIT.unavailable : EXIT.ok };
  } catch (error) {
    if (error instanceof Problem && !isBug(error.cause))
      return { diagnosis: unreachable(error.message), status: error.status };
    throw error;
  }
}
