import { type Diagnosis, diagnose, unreachable } from '../checks/diagnose.ts';
import { connect } from '../client/connect.ts';
import { attempt } from '../client/explain.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import { drawData } from '../terminal/data.ts';
import { accessArgs, formatOf, makeCommand, outputArgs } from './command.ts';
import { drawDiagnosis } from './draw-doctor.ts';
import { type Scope, takeSurvey } from './survey.ts';

/** `kubectl stoker doctor`: what is wrong, from the CRDs to the sidecar of each pod. */
export const doctor = makeCommand({
  name: 'doctor',
  summary: 'Find out what is wrong, from the CRDs to the sidecar of each pod',
  details: [
    'Checks the cluster, the operator, injection and rights, then the namespace with its GatewaySyncs and pods. Each line is ✓ (right), ! (look at it, or not known) or ✗ (wrong); below it is what to do, and the page that says more.',
    "Exits with 1 if something is ✗, and with 3 if the cluster is unreachable or denies access, also to the GatewaySyncs alone. It only reads, with your own rights. Anything else that you can't read is a line with !, and no failure. Values of Secrets are never shown.",
    'With a name, only that GatewaySync and its pods are looked at, after the cluster.',
  ],
  examples: [
    { line: 'doctor -n gateways', does: 'the cluster, and all of a namespace' },
    { line: 'doctor plant -n gateways', does: 'one GatewaySync and its pods' },
    { line: 'doctor --all-namespaces', does: 'every namespace that has a GatewaySync' },
    { line: 'doctor -o json', does: 'the same for a program' },
  ],
  args: {
    name: { type: 'positional', required: false, description: 'A GatewaySync. Left out: all of the namespace.' },
    'all-namespaces': { type: 'boolean', alias: 'A', description: 'All namespaces with a GatewaySync.' },
    'operator-namespace': {
      type: 'string',
      valueHint: 'NAME',
      description: 'Where the operator is installed. Left out: wherever you may look.',
    },
    ...outputArgs,
    ...accessArgs,
  },
  run: async ({ args, host }): Promise<ExitStatus> => {
    const format = formatOf(args);
    const allNamespaces = args['all-namespaces'] === true;
    if (allNamespaces && args.name)
      throw new Problem('a name needs a namespace: leave out --all-namespaces', EXIT.usage);
    if (allNamespaces && args.namespace)
      throw new Problem('--namespace and --all-namespaces exclude each other: leave out one', EXIT.usage);
    const scope = { name: args.name, allNamespaces, operatorNamespace: args['operator-namespace'] };
    const { diagnosis, status } = await examine(connect(args, host), scope);
    if (format) host.print(drawData(diagnosis, format));
    else host.print(`${drawDiagnosis(diagnosis, host).join('\n')}\n`);
    return status;
  },
});

interface Examination {
  diagnosis: Diagnosis;
  status: ExitStatus;
}

/** Examines the cluster. One that can't be queried is shown as a finding, too. */
async function examine(access: ReturnType<typeof connect>, scope: Scope): Promise<Examination> {
  try {
    const survey = await attempt(access, { doing: 'ask the API server' }, () => takeSurvey(access, scope));
    const diagnosis = diagnose(survey);
    const isDenied = survey.namespaces.every(
      ({ gatewaySyncs }) => gatewaySyncs.kind === 'hidden' && gatewaySyncs.why === 'forbidden',
    );
    if (diagnosis.totals.failed > 0) return { diagnosis, status: EXIT.failed };
    return { diagnosis, status: isDenied && survey.namespaces.length > 0 ? EXIT.unavailable : EXIT.ok };
  } catch (error) {
    if (error instanceof Problem) return { diagnosis: unreachable(error.message), status: error.status };
    throw error;
  } finally {
    access.client.close();
  }
}
