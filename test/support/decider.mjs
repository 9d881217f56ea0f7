/** Decides for a supervisor what its prompt says: a list with a decision per turn, then the end. */
export const decider = {
  perform: async ({ input: { prompt, iteration } }) => ({
    ok: true,
    output: prompt[iteration - 1] ?? { kind: 'terminate' },
  }),
}
