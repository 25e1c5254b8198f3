/** Analytics calls from Node and browsers to Waypost, or to any ingest of the same wire format. */
export { Analytics } from './analytics.js';
export {
  type AliasCall,
  type CallType,
  type GroupCall,
  type IdentifyCall,
  InvalidCallError,
  type Message,
  type PageCall,
  type Properties,
  type ScreenCall,
  type TrackCall,
} from './calls.js';
export { type Failure, type Fetch, type Options } from './options.js';
