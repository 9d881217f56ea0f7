/** Each of these must have happened, or the stories have told too little. */
export const counts = () => ({
  stories: 0,
  branches: 0,
  replays: 0,
  'replays that told the same ids': 0,
  'ids that branches made': 0,
  'forks of a branch': 0,
  'forks of a replay': 0,
  'branches of a replay that were sent to its source': 0,
  'reads in sources': 0,
  'reads in forks': 0,
  'reads in forks that found something': 0,
  'reads of moments': 0,
  'moments at which something was there': 0,
  'moments that others have changed since': 0,
  'files at moments': 0,
  'gates that passed': 0,
  'gates that did not': 0,
  'children that were forked': 0,
  'isolated children': 0,
})

export type Counts = ReturnType<typeof counts>
