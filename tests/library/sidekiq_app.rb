# The jobs that sidekiq_test.rb and a Sidekiq process share. What ran is noted in a file, so
# that nothing but Sidekiq writes to the database.
require "sidekiq"

REDIS = {url: "redis://127.0.0.1:#{ENV.fetch("KEYWARD_TEST_PORT")}/0"}
NOTES = ENV.fetch("KEYWARD_TEST_NOTES")

Sidekiq.configure_server do |config|
  config.redis = REDIS
  config.average_scheduled_poll_interval = 1
  config.logger.level = Logger::FATAL
end
Sidekiq.configure_client { |config| config.redis = REDIS }

def note(text) = File.write(NOTES, "#{text}\n", mode: "a")

class Add
  include Sidekiq::Job
  def perform(one, other) = note("added #{one + other}")
end

class Slow
  include Sidekiq::Job
  def perform(seconds)
    note("slow begins")
    sleep seconds
  end
end

class Flaky
  include Sidekiq::Job
  sidekiq_options retry: 2
  sidekiq_retry_in { 0 }
  def perform(name)
    attempts = File.read(NOTES).scan("flaky #{name}\n").size
    note("flaky #{name}")
    raise "on purpose" if attempts < 1
  end
end

class Hopeless
  include Sidekiq::Job
  sidekiq_options retry: 0
  def perform = raise("on purpose")
end

class Later
  include Sidekiq::Job
  sidekiq_options retry: 5
  sidekiq_retry_in { 3600 }
  def perform = raise("on purpose, with ümlauts")
end

module Billing
  class Invoice
    include Sidekiq::Job
    sidekiq_options queue: "mail"
    def perform(number) = note("invoice #{number}")
  end

  module Old
    class Invoice
      include Sidekiq::Job
      def perform(number) = note("old invoice #{number}")
    end
  end
end

class Import
  include Sidekiq::IterableJob
  def build_enumerator(cursor:) = array_enumerator((1..60).to_a, cursor: cursor)
  def each_iteration(row)
    note("row #{row}")
    sleep 0.1
  end
  def on_complete = note("import complete")
end
