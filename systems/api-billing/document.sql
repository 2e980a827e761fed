-- The document's own tables and indexes (its chapter "Migration Strategy"). A line that does
-- not hold the document's own rows is changed, and the one that it was stands above it.

CREATE TABLE users (
  id BIGINT PRIMARY KEY,  -- telegram_user_id
  telegram_username VARCHAR(255),
-- api_key VARCHAR(64) UNIQUE,
  api_key VARCHAR(64) UNIQUE DEFERRABLE,
-- balance_usd DECIMAL(10, 2) DEFAULT 0,
  balance_usd DECIMAL DEFAULT 0,
  status VARCHAR(20) DEFAULT 'active',
-- created_at TIMESTAMP DEFAULT NOW(),
  created_at TIMESTAMPTZ DEFAULT NOW(),
  updated_at TIMESTAMP DEFAULT NOW()
);

CREATE TABLE api_keys (
-- key_hash VARCHAR(64) PRIMARY KEY,
  api_key VARCHAR(255) PRIMARY KEY,
  key_hash VARCHAR(64),
  user_id BIGINT REFERENCES users(id),
  name VARCHAR(255),
  permissions JSONB,
-- created_at TIMESTAMP DEFAULT NOW(),
  created_at TIMESTAMPTZ DEFAULT NOW(),
-- last_used_at TIMESTAMP
  last_used_at TIMESTAMPTZ
);

CREATE TABLE transactions (
-- id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
  id TEXT,
  entry TEXT PRIMARY KEY,
  user_id BIGINT REFERENCES users(id),
  type VARCHAR(20),
-- amount_usd DECIMAL(10, 2),
  amount_usd DECIMAL,
-- balance_before DECIMAL(10, 2),
  balance_before DECIMAL,
-- balance_after DECIMAL(10, 2),
  balance_after DECIMAL,
  source VARCHAR(50),
  external_id VARCHAR(255),
  metadata JSONB,
-- created_at TIMESTAMP DEFAULT NOW()
  created_at TIMESTAMPTZ DEFAULT NOW()
);

CREATE TABLE usage_daily (
  user_id BIGINT REFERENCES users(id),
  date DATE,
-- product VARCHAR(50),
  product TEXT,
-- requests INT DEFAULT 0,
  requests BIGINT DEFAULT 0,
-- tokens INT DEFAULT 0,
  tokens BIGINT DEFAULT 0,
  PRIMARY KEY (user_id, date, product)
);

-- Indexes
CREATE INDEX idx_transactions_user ON transactions(user_id);
CREATE INDEX idx_transactions_created ON transactions(created_at);
CREATE INDEX idx_usage_date ON usage_daily(date);
