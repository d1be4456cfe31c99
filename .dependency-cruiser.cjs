// Which modules can import which: docs/contributing/modules.md draws them and says why.

const { Visitor } = require('@swc/core/Visitor.js');

// This visitor, which dependency-cruiser uses, stops at `using` declarations.
const { visitStatement } = Visitor.prototype;
Visitor.prototype.visitStatement = function (statement) {
  if (statement.type !== 'UsingDeclaration') return visitStatement.call(this, statement);
  statement.decls = this.visitVariableDeclarators(statement.decls);
  return statement;
};

/** From the top down: a module (a directory, or a file of that name) imports only modules to the right of the next arrow. */
const modules = {
  receiver:
    'main → run-receiver → app · connection-limiter → config · metrics → authentication · routes → request → annotations → outcome → sources',
  controller:
    'main → run-controller → controller → reconcile → commit-status → releases → agent-access → injection · missing-sidecars → intent → polling → rollout → watch → leadership · metrics → certificates → config · own-directories',
  agent:
    'main → run-agent → wire-sync → inspection · preview → sync → report → volume/moves → volume/trees → volume/scan → volume/manifest → volume/state → content → git · gateway → lfs · signatures → resource · metrics → disk → plan · config',
  cli: 'main → program → commands → command-support · survey · views → ui → orders → capture → checks · checkout · migrate → fleet → terminal → client',
};

/** What decides and does nothing else; biome.json keeps clock, chance and timers out of the same files. */
const pure = [
  '^receiver/sources/',
  '^controller/intent/',
  '^controller/polling/(query-result|version-tags)\\.ts$',
  '^controller/releases/(find-release|results)\\.ts$',
  '^controller/rollout/',
  '^controller/commit-status/(desired-status|destination|judge-answer|next-post|servers)\\.ts$',
  '^controller/reconcile/(decide/|status/merge-patch\\.ts$|events/(status-transitions|announcement)\\.ts$)',
  '^controller/watch/observed-',
  '^agent/plan/',
  '^cli/(checks|fleet|migrate|terminal)/',
  '^shared/(api|domain)/',
  '^shared/errors\\.ts$',
];
const pureLibraries = [
  'node_modules/(valibot|croner|diff|ipaddr\\.js|semver|smol-toml|string-width|yaml)/',
  '^(node:)?(crypto|buffer|path|path/posix|util)$',
];

const programs = Object.keys(modules);
const anyOf = (paths) => paths.join('|');
const pathOf = (program, names) => `^${program}/(${names.join('|')})(/|\\.ts$)`;
const forbid = (name, from, to, comment) => ({ name, severity: 'error', from, to, ...(comment && { comment }) });

/** No module imports one above it or one on its own step, and no file is outside the modules. */
function moduleRules([program, order]) {
  const steps = order.split(' → ').map((step) => step.split(' · '));
  const names = steps.flat();
  const rules = steps.flatMap((step, index) =>
    step.map((module) => {
      const others = steps.slice(0, index + 1).flat();
      const to = { path: pathOf(program, others), pathNot: pathOf(program, [module]) };
      return forbid(`${program}-${module}-imports-only-modules-below`, { path: pathOf(program, [module]) }, to);
    }),
  );
  const outside = { path: `^${program}/`, pathNot: pathOf(program, names) };
  return [...rules, forbid(`${program}-has-only-these-modules`, outside, {})];
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    forbid('no-circular', {}, { circular: true }),
    forbid(
      'the-first-tests-need-no-helm',
      { path: '^tests/(unit|integration|support)/' },
      { path: '^tests/(chart|monitoring|e2e)/' },
      'on a new machine helm is still being built while they run',
    ),
    forbid('no-unresolvable', {}, { couldNotResolve: true }),
    forbid('shared-imports-no-program', { path: '^shared/' }, { path: `^(${anyOf(programs)}|scripts|tests)/` }),
    ...programs.map((program) =>
      forbid(
        `${program}-imports-no-other-program`,
        { path: `^${program}/`, pathNot: '^cli/(capture|checkout)/' },
        { path: `^(${anyOf(programs.filter((other) => other !== program))}|scripts|tests)/` },
      ),
    ),
    forbid(
      'checkout-imports-only-the-plan-of-another-program',
      { path: '^cli/(capture|checkout)/' },
      { path: `^(${anyOf(programs.filter((program) => program !== 'cli'))}|scripts|tests)/`, pathNot: '^agent/plan/' },
      'kubectl stoker check has to plan exactly as the agent does',
    ),
    ...Object.entries(modules).flatMap(moduleRules),
    forbid(
      'pure-modules-are-pure',
      { path: anyOf(pure) },
      { pathNot: anyOf([...pure, ...pureLibraries]), dependencyTypesNot: ['type-only'] },
      'only pure libraries, types, and what is pure itself: no logger, file, process or network',
    ),
    forbid(
      'api-is-the-source',
      { path: '^shared/api/' },
      { pathNot: '^shared/(api|domain)/|node_modules/valibot/', dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      'only-main-reads-process',
      {
        path: `^(${anyOf(programs)}|shared)/`,
        pathNot: `^(${anyOf(programs)})/main\\.ts$`,
      },
      { path: '^(node:)?process$' },
      'the global is forbidden by the linter; a working directory can be had nowhere else',
    ),
    forbid(
      'http-errors-stay-in-routes',
      {
        path: `^(${anyOf(programs)}|shared)/`,
        pathNot:
          '^receiver/(app\\.ts$|request\\.ts$|authentication/authenticate\\.ts$|routes/)|^controller/injection/app\\.ts$|^cli/ui/app\\.ts$|^shared/io/http/',
      },
      { path: 'node_modules/(h3|listhen)/' },
      'h3 is known to apps, routes and the place that listens',
    ),
    forbid(
      'cron-stays-in-rollout',
      { pathNot: '^controller/rollout/|node_modules/' },
      { path: 'node_modules/croner/' },
      'the bundles of receiver and agent have no use for it',
    ),
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      mainFields: ['module', 'main'],
    },
  },
};
