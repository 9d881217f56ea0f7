/**
 * Before any test, and again before each rerun of a watch: dist/ is what src/ says. Worker threads run dist/ even where
 * a test runs src/, so without this an edit of what they do would be tested as it was yesterday.
 */
import { setup } from './setup.mjs'

export default async project => {
  project.onTestsRerun(() => setup())
  await setup()
}
