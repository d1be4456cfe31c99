import type { DefaultTheme } from 'vitepress';

/** Pages for contributors, and the changelog. They contain most words of the project, so they would precede answers. */
const NOT_SEARCHED = /^(docs\/(adr|contributing)\/|CONTRIBUTING\.md$|CHANGELOG\.md$)/;

/** Options of the search. */
export const searchOptions: DefaultTheme.LocalSearchOptions = {
  detailedView: true,
  miniSearch: {
    // A section with any word of the query is a result. MiniSearch multiplies its score by the number of words that it has.
    searchOptions: {
      combineWith: 'OR',
      prefix: true,
      fuzzy: 0.15,
      weights: { fuzzy: 0.1, prefix: 0.1 },
      boost: { title: 4, text: 2, titles: 1 },
    },
    options: { processTerm },
  },
  _render: (source, env, md) => (NOT_SEARCHED.test(env.relativePath) ? '' : md.render(source, env)),
};

/**
 * Returns the form in which a word is indexed and searched, without the ending of a plural, or null for a word that says
 * nothing. VitePress sends the text of this function to the browser, so it can't use names from outside of it.
 */
function processTerm(term: string): string | null {
  const word = term.toLowerCase();
  const isStopWord =
    /^(an?|about|and|any|are|as|at|be|been|but|by|can|could|did|do|does|for|from|get|ha[ds]|have|how|i|if|in|into|isn?|its?|me|my|need|of|on|or|our|s|so|t|than|that|the|their|them|then|there|these|they|this|to|use|want|was|we|what|when|where|which|who|why|will|with|would|you|your)$/;
  return isStopWord.test(word) ? null : word.replace(/(?<=\w{4})(?<![su])s$/, '');
}
